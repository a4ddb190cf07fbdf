"""Results of other tools and people: recognised, read as runs, and written as a run directory, or judged by lint.

There is one reader for each origin (`reader.Reader`): ours are in `files.READERS`, those of other packages behind
entry points of the group `pgassay.importers`. Readers guess nothing: what a file does not say is unknown, and what
cannot be read is named with its reason.
"""
