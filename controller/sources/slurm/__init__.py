"""Slurm's jobs -> declared jobs on whole hosts.

``slurm_jobs`` reads what Slurm's hooks and commands say; start there. ``hooks/`` holds the script
that slurmctld runs when a job begins and when it ends.
"""
