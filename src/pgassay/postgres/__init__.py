"""PostgreSQL under test: found, initialised, started on a private socket, read back, stopped.

All that differs between major versions is in `versions`.
"""
