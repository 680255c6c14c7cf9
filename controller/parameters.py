"""The registry of the controller's parameters: every dataclass that declares some, by name."""

from __future__ import annotations

from controller.blacklist import parameters as blacklist
from controller.coverage import parameters as coverage
from controller.feedback import parameters as feedback
from controller.feedback import suspects
from controller.inventory.traced import parameters as traced
from controller.ping_lists import parameters as ping_lists
from controller.requests import parameters as requests
from controller.service import parameters as service
from controller.skeleton import parameters as skeleton
from controller.slurm_drain import parameters as slurm_drain
from controller.sources.kubernetes import parameters as pods
from controller.sources.slurm import parameters as slurm
from controller.tasks import claims, tasks
from controller.traffic import parameters as traffic


def groups() -> dict[str, object]:
    """Name -> instance with the values in force, for ``schemas.parameters.parameter.rows``."""
    return {
        "controller.blacklist": blacklist.DEFAULT,
        "controller.coverage": coverage.DEFAULT,
        "controller.feedback": feedback.DEFAULT,
        "controller.feedback.suspects": suspects.DEFAULT,
        "controller.inventory.traced": traced.DEFAULT,
        "controller.ping_lists": ping_lists.DEFAULT,
        "controller.requests": requests.DEFAULT,
        "controller.service": service.DEFAULT,
        "controller.skeleton": skeleton.DEFAULT,
        "controller.slurm_drain": slurm_drain.DEFAULT,
        "controller.sources.kubernetes": pods.DEFAULT,
        "controller.sources.slurm": slurm.DEFAULT,
        "controller.tasks": tasks.DEFAULT,
        "controller.tasks.claims": claims.DEFAULT,
        "controller.traffic": traffic.DEFAULT,
    }
