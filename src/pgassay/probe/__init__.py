"""What is read before, while and after a load runs: pg_stat views, /proc of the server, diskstats.
"""
