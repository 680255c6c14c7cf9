"""Events about jobs and containers for tests of the controller."""
