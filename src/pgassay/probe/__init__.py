"""What is read before, while and after a load runs: pg_stat views, /proc of the server, diskstats.

`standard_probes` gives all of them for a server, `Sampler` reads them, `differences` and `costs` make of two readings
what happened and what a transaction cost.
"""
