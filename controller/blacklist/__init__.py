"""Open incidents -> hosts that schedulers had better leave out, and why. Advisory; no I/O.

parameters  how sure, how long, how many at most
blacklist   entries from incidents, the cap, what is left out and why
formats     as Kubernetes and Slurm read it
"""
