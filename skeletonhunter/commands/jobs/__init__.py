"""The commands ``jobs`` and ``slurm``: training jobs, their containers, and nodes of Slurm."""
