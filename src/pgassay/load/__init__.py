"""The loads: what fills a database and works on it. Each makes its data, runs its program and reads its output."""
