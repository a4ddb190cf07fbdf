"""pgassay: a laboratory for PostgreSQL on storage."""

__version__ = "0.1.0"
