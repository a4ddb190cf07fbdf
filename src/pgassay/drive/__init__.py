"""Where PostgreSQL's bytes go: directories, images, emulated drives and real devices behind one interface.

`attacher` makes of a study's options (`options`) drives that implement `interfaces.store.Drive`; `root`, `sessions` and
`snapshots` keep to what is ours below a directory, and `smart` reads what real drives count.
"""
