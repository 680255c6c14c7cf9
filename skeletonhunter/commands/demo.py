"""``skeletonhunter demo``: faults in a simulated cluster, and the incidents that name them."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from skeletonhunter.errors import BadInput

_SECOND: Final = 1_000_000_000
#: The least time until the first probe: the runtime starts, jobs start, skeletons are found [s].
_PREPARING_S: Final = 10.0


def register(app: typer.Typer) -> None:
    """Add ``demo``."""

    @app.command(epilog="Example: skeletonhunter demo --duration 60 --headless")
    def demo(
        duration: Annotated[
            float,
            typer.Option(
                help="Length of the part with faults [s]: 25 or more for `demo`, a twelfth of the "
                "scenario's for others; event time runs faster."
            ),
        ] = 75.0,
        seed: Annotated[
            int, typer.Option(min=0, help="Seed of the components that the faults hit.")
        ] = 1,
        port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page.")] = 8765,
        headless: Annotated[
            bool,
            typer.Option(
                "--headless", help="Print plain lines, as without a terminal, for scripts."
            ),
        ] = False,
        stay: Annotated[
            bool,
            typer.Option("--stay", help="Leave page, broker and database up until Ctrl-C."),
        ] = False,
        scenario: Annotated[
            str, typer.Option(help="Name of a shipped scenario, or a file.")
        ] = "demo",
        strategy: Annotated[str, typer.Option(help="Localization strategy.")] = "hypothesis",
    ) -> int:
        """Break a simulated cluster and name the culprits.

        Before, its jobs start, and the controller infers their traffic skeletons from what their
        rnics send; probes follow them. Exit code 1 if a fault is missed or a component is blamed
        falsely.
        """
        from skeletonhunter import log_lines
        from skeletonhunter.arguments import known_strategy
        from skeletonhunter.embedded.demo import play, runtime_options
        from skeletonhunter.embedded.demo_state import DemoState
        from skeletonhunter.embedded.pace import FASTEST, Pace
        from skeletonhunter.embedded.simulated_site import SimulatedSite
        from skeletonhunter.services.lifecycle import until_terminated
        from streams import event_loop
        from testbed.scenarios.scenario import ScenarioError, load

        known_strategy(strategy, "--strategy")
        try:
            plan = load(scenario)
            least = math.ceil(plan.duration_s / FASTEST)
            if not least <= duration < math.inf:
                raise BadInput(f"--duration {duration:g}: {scenario} needs at least {least} s")
            # the last second is played about when it happens, and none before
            start_s = time.time() + _PREPARING_S + duration - plan.duration_s
            simulation = plan.simulation(seed=seed, start_ns=int(start_s) * _SECOND)
        except ScenarioError as why:
            raise BadInput(str(why)) from why
        plain = headless or not sys.stdout.isatty()  # a live table into a pipe shows nothing
        pace = Pace.until(simulation.faults, plan.duration_s, duration)
        log_lines.start("ERROR")

        async def in_a_folder() -> int:
            # made and removed while SIGTERM and SIGINT cancel this: neither leaves it behind
            with tempfile.TemporaryDirectory(prefix="skeletonhunter-") as data:
                state = DemoState(simulation, pace)
                site = SimulatedSite(simulation.topology)
                options = runtime_options(state, site, Path(data), port=port, strategy=strategy)
                return await play(state, options, site, headless=plain, stay=stay)

        return event_loop.run(until_terminated(in_a_folder()))
