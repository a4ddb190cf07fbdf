"""Data like a server's, made from its statistics: no value of the user's leaves the server.

The planner knows a table by pg_statistic (manual, "Statistics Used by the Planner"): how many rows, how many distinct
values, the common ones with their shares, a histogram of the rest, how far the physical order follows the values, the
share of NULLs and the mean width. `reading` takes these from a server and replaces each value by a place on a line
(`statistics`); `generation` makes as many values of the same type, order, width and skew, and binds those of unique and
foreign keys together; `files` copies them into a schema and gives tables and indexes the source's size. Statistics over
several columns (CREATE STATISTICS) and expressions are not read: columns that no key binds are independent, which is
also what the planner assumes of them.
"""
