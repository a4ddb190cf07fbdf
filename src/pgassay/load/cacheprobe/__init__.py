"""The load of the cache study: index probes, a sequential scan, index probes again, on one table of random numbers."""
