"""skeletonhunter.diagnosis."""
