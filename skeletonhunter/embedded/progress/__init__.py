"""How far worker and sink have come while the demo plays, which waits for both."""
