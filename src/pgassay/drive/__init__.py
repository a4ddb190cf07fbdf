"""Where PostgreSQL's bytes go: directories today; golden snapshots and their clones behind one interface.

`directory.DirectoryDrive` implements `bench.store.Drive`; its clones are made by `reflink` where the file system can,
else by `copying`; `markers` keeps to what is ours.
"""
