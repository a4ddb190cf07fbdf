"""Plain tables in, estimates out: summaries, effects with intervals, verdicts, costs, forecasts.

Pure: no clock, no disk, no subprocess. Imports only `study`. Every number that it makes is explained in
docs/statistics.md.
"""
