"""The parts of a site as processes on loopback, and those who call them."""
