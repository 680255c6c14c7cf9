"""probers.agent."""
