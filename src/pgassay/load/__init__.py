"""What works on the database: pgbench today; each load prepares, runs and parses its own program's output."""
