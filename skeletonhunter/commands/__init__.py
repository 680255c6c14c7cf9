"""skeletonhunter.commands."""
