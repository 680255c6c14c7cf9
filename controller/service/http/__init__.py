"""The FastAPI application over a ``Site``: ``app.py`` joins the routes, which decode and encode."""
