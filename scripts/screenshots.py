"""Takes pictures of all views of the page, from a demo in which two faults last: docs/screenshots/.

    python scripts/screenshots.py [--url http://127.0.0.1:8765/]

At 1440 and 390 pixels, light and dark, as PNGs of 256 colors at most. Needs Chromium
(``scripts/packages.sh chromium``).
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from PIL import Image
from playwright.sync_api import sync_playwright

HERE: Final = Path(__file__).parent
FOLDER: Final = HERE.parent / "docs" / "screenshots"
CHROMIUM: Final = shutil.which("chromium") or "/usr/bin/chromium"
#: Of all pictures together [bytes].
MOST_BYTES: Final = 1_500_000
_COLORS: Final = 128
#: A picture ends here: the beginning of a long list shows what the rest is like [pixels].
_HIGHEST: Final = {1440: 950, 390: 1300}
#: View -> its address, and what is there once it is drawn.
VIEWS: Final = {
    "fleet": ("/fleet", "#rows tr"),
    "pipeline": ("/pipeline", "#tables tr"),
    "now": ("/", "#strip li"),
    "topology": ("/topology?incident={incident}", "#out li"),
    "incident": ("/incidents/{incident}", "#charts canvas"),
    "matrix": ("/matrix", "#worst tbody tr"),
    "jobs": ("/jobs", "#rows tr"),
    "job": ("/jobs/{job}", "#charts canvas"),
}


def main() -> int:
    """Takes the pictures; exit code 1 when a view complains or they are too large."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", help="of a running page; without it, a demo is played")
    given = parser.parse_args()
    if given.url:
        complaints = take(given.url)
    else:
        with demo() as url:
            complaints = take(url)
    total = sum(path.stat().st_size for path in FOLDER.glob("*.png"))
    print(f"{len(list(FOLDER.glob('*.png')))} pictures, {total / 1e6:.2f} MB in {FOLDER}")
    for text in complaints:
        print(text, file=sys.stderr)
    if total > MOST_BYTES:
        print(f"they are larger than {MOST_BYTES / 1e6:g} MB together", file=sys.stderr)
    return 1 if complaints or total > MOST_BYTES else 0


@contextmanager
def demo() -> Iterator[str]:
    """A demo whose faults last, as the address of its page once all has been played."""
    command = [
        str(Path(sys.executable).parent / "skeletonhunter"), "demo", "--headless", "--stay",
        "--port", "0", "--duration", "145", "--scenario", str(HERE / "screenshots.toml"),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  # fixed
        try:
            url = ""
            for line in process.stdout or ():
                print(line, end="")
                if found := re.match(r"page (http://\S+)", line):
                    url = found[1]
                if line.startswith("stop with"):
                    break
            yield url
        finally:
            process.terminate()


def take(url: str) -> list[str]:
    """Pictures of all views; returns what their scripts complained about."""
    url = url.rstrip("/")
    names = newest(url)
    FOLDER.mkdir(parents=True, exist_ok=True)
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        for name, (path, drawn) in VIEWS.items():
            for width in (1440, 390):
                for scheme in ("light", "dark"):
                    page = browser.new_page(
                        viewport={"width": width, "height": 800}, color_scheme=scheme
                    )
                    page.set_default_timeout(90_000)
                    page.on("pageerror", lambda error: complaints.append(str(error)))
                    page.goto(url + path.format(**names))
                    page.locator(drawn).first.wait_for()
                    page.wait_for_timeout(500)
                    height = page.evaluate("document.documentElement.scrollHeight")
                    clip = {"x": 0, "y": 0, "width": width, "height": min(height, _HIGHEST[width])}
                    png = page.screenshot(full_page=True, clip=clip)
                    store(png, FOLDER / f"{name}-{width}-{scheme}.png")
                    page.close()
        browser.close()
    return complaints


def newest(url: str) -> dict[str, Any]:
    """The most urgent incident of the network, and a job that it affects."""
    items = httpx.get(f"{url}/api/v1/incidents?order=urgent", timeout=60).json()["items"]
    first = next(each for each in items if each["layer"] == "underlay" and each["jobs"])
    return {"incident": first["incident_id"], "job": first["jobs"][0]}


def store(png: bytes, path: Path) -> None:
    """Write a picture with few colors, which its flat areas need not more of."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(_COLORS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
