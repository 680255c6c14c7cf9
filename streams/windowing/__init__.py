"""streams.windowing."""
