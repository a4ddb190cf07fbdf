"""pgassay: a laboratory for PostgreSQL on storage."""
