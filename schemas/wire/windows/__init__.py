"""Parts of ``window_chunks``: columns, headers, checks of what comes."""
