"""Pod -> the job that it works for. Pure.

Source: labels of the pods that each operator creates, as its documentation and code name them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.sources.kubernetes.api_objects import Pod
from controller.sources.kubernetes.parameters import DEFAULT

#: The first label that a pod has counts: pods of a JobSet, and an MPIJob's launcher, have those of
#: a Job too.
LABELS: Final = (
    "elasticjob.dlrover/name",
    "training.kubeflow.org/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "volcano.sh/job-name",
    "batch.kubernetes.io/job-name",
    "job-name",
)
#: How many pods the job has when it is complete; ``false``: its skeleton must not be inferred.
SIZE: Final = "skeletonhunter.io/job-size"
SKELETON: Final = "skeletonhunter.io/skeleton"


def job_of(pod: Pod, labels: Sequence[str] = LABELS) -> str:
    """namespace/name of the job, since names are unique in a namespace; empty without a label."""
    own = pod.metadata.labels or {}
    name = next((own[label] for label in labels if own.get(label)), "")
    return f"{pod.metadata.namespace}/{name}" if name else ""


def size_of(pod: Pod, most: int = DEFAULT.most_containers) -> int:
    """Pods of the complete job, at most so many; 0 where that is not said."""
    text = pod.annotation(SIZE)
    return min(int(text), most) if text.isascii() and text.isdigit() else 0


def node_id_of(pod: Pod) -> str:
    """Name of the pod as a container: namespace/name.uid, with the first group of the uid.

    Names alone are used again, by pods that an operator replaces and in other clusters.
    """
    return f"{pod.name}.{pod.metadata.uid.partition('-')[0]}"
