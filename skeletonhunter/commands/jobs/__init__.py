"""The command ``jobs``: training jobs and their containers."""
