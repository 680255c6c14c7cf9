"""Where jobs and containers come from besides REST: what a source shows -> events of ``tasks``.

``kubernetes/`` follows pods; ``slurm/`` reads what Slurm's hooks and commands say; ``declared`` is
a job as a file or a request declares it. Start there.
"""
