"""Others' results: files that other tools and people wrote, read as runs and turned into a run directory.

Readers are pure (text in, values out) and guess nothing: what a file does not say is unknown, and what cannot be read
is named with its reason. The reader of what pgbench writes is in the command line, which may call the room `load`.
"""
