"""Jobs, containers and planned work: events in, state and documents out. Pure.

Events (``events``) come from several sources, in any order, more than once. ``claims`` decides a
container's state from what they say; ``tasks`` holds everything and is where to start reading.
"""
