"""What is read before, while and after a load runs: pg_stat views, /proc of the server, block devices, drives.

`registry` lists all probes and opens them on a server; `sampler` reads them and makes differences of two readings.
"""
