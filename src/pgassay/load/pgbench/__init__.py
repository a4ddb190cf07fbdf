"""pgbench as a load: options to arguments, its three text streams and its log to values."""
