"""Faust's side of a stream worker: the app, its transport, and how it delivers messages."""
