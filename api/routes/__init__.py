"""HTTP requests in, responses out: one module per group of URLs.

Start in ``incidents``. ``monitoring_app`` serves the health URLs alone, without the api.
"""
