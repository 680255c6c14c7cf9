"""Messages, documents and stages for tests of streams."""
