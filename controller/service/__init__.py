"""The controller as a service: requests of agents and operators in, ping lists and documents out.

``site.py`` is where to start reading: it feeds ``controller.state`` and publishes what follows.
``http/`` is its FastAPI application. The broker's client and the server are given by the command.
"""
