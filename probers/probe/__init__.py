"""`skeletonhunter-agent probe`: one engine by hand, without a list and without publishing."""
