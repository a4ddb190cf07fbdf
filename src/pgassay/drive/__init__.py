"""Where PostgreSQL's bytes go: directories today; golden snapshots and their clones behind one interface.
"""
