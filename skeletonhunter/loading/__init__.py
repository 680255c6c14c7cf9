"""Files of ping records -> rows of a store, by the sink's own code. Start with ``store_files``."""
