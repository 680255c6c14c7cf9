"""Reads messages in a process of its own; prints the result and the memory growth of each.

Arguments: a folder, and the messages in it as name=content-type; ``good`` is read after each.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from schemas import topics
from schemas.wire import window_chunks
from schemas.wire.batches import decode_all
from streams import dead_letters

ADDRESS_SPACE_BYTES = 6 * 2**30  # protects the machine when a limit fails


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(folder: Path, names: list[str]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    good = (folder / "good").read_bytes()
    decode_all([(good, topics.ARROW)])  # lazily loaded code is not counted as growth
    for line in names:
        file, _, kind = line.partition("=")
        raw = (folder / file).read_bytes()
        before = peak_bytes()
        if kind.startswith("chunk:"):
            try:
                window_chunks.decode(kind.removeprefix("chunk:"), raw)  # type: ignore[arg-type]
                result = {"rows": 1}
            except window_chunks.WindowsError as why:
                result = {"rows": 0, "bad": 1, "why": str(why)}
        else:
            kind = json.loads((folder / f"{file}.type").read_text())
            joined = decode_all([(raw, kind), (good, topics.ARROW)])
            letters = [
                dead_letters.message("skh.pings", 0, 0, raw, str(why)) for _, why in joined.errors
            ] + [dead_letters.row("skh.pings", 0, 0, reject) for _, reject in joined.rejects]
            result = {
                "rows": int((joined.message == 0).sum()),
                "good": int((joined.message == 1).sum()),
                "bad": joined.bad,
                "letters": len(letters),
                "letter_bytes": sum(
                    len(each.value) + sum(len(text) for _, text in each.headers) for each in letters
                ),
                "why": letters[-1].headers[0][1].decode() if letters else "",
            }
        result |= {"file": file, "grown": peak_bytes() - before}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
