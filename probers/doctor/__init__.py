"""`skeletonhunter-agent doctor`: whether this host has what an agent needs, line by line."""
