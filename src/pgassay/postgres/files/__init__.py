"""An existing cluster's files, only read: which there are, and whose they are; with a server to ask or without one.

PostgreSQL manual, "Database File Layout". Nothing here opens a file for writing or takes a lock; a server may run on
the cluster meanwhile, and then files come and go.
"""
