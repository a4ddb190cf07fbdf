"""PostgreSQL under test: found, initialised, started on a private socket, read back, stopped.

What differs between major versions is in `interfaces.versions`.
"""
