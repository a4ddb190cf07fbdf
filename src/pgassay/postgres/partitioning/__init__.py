"""`schema.partition`: a table of the loaded data made a partitioned one, with all that belongs to it.

PostgreSQL has no ALTER TABLE for this (manual, "Table Partitioning"): a new table takes the place of the old one.
"""
