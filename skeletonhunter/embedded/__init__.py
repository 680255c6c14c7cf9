"""skeletonhunter.embedded."""
