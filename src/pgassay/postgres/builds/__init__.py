"""PostgreSQL built from source, at any page size: sources, a cache of verified builds, and the building itself.

See `builder` for the one call that the lab makes, and PostgreSQL's manual, "Installation from Source Code".
"""
