"""The blacklist and Slurm's nodes -> what scontrol is asked to do. No I/O.

nodes       what ``scontrol show node --json`` and ``sinfo --json`` say of nodes; start there
plan        which nodes are drained and which resumed, and which are left alone and why
features    which nodes have a feature that says that no open incident names them
audit       a line for each action, and how many there were in an hour
parameters  the bounds that hold unless the command is told others
"""
