"""skeletonhunter.commands.fabric."""
