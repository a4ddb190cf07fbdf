"""The loads of benchmarks/turns.py, and what can be planted in them: a slow-down that a setting of the server turns on.

So one server can have it in one moment and not in the next, with the same connections.
"""

BURN = "CREATE FUNCTION burn(n int) RETURNS int LANGUAGE plpgsql AS 'BEGIN FOR i IN 1..n LOOP END LOOP; RETURN n; END'"
ACCOUNT = "\\set aid random(1, 100000 * :scale)\n"
_PLANTED = "current_setting('gin_fuzzy_search_limit')::int"
SCRIPTS = {
    "cpu": ACCOUNT + f"SELECT abalance, burn({_PLANTED}) FROM pgbench_accounts WHERE aid = :aid;\n",
    "flush": ACCOUNT
    + "\\set bid random(1, :scale)\n\\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n"
    + "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
    + f"SELECT abalance, burn({_PLANTED}) FROM pgbench_accounts WHERE aid = :aid;\n"
    + "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)"
    + " VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\nEND;\n",
    "delay": ACCOUNT + "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;\n",
    "read": "\\set thousandth random(1, 1000)\n"
    + ACCOUNT
    + "\\set near random(1, 1000)\nSELECT abalance FROM pgbench_accounts"
    + f" WHERE aid = CASE WHEN :thousandth <= {_PLANTED} THEN CAST(:aid AS int) ELSE CAST(:near AS int) END;\n",
}
"""What is planted is a number that a setting of the server holds. `cpu` and `flush` are pgbench's -S and -N with a
function that burns so many rounds of the server's CPU; `delay` waits so many microseconds before each flush
(commit_delay); `read` looks so many of a thousand rows up anywhere in a table that does not fit into shared buffers,
the others where they always are. gin_fuzzy_search_limit is a setting that nothing else in these loads reads."""
SETTINGS = {
    "shared_buffers": "512MB", "max_wal_size": "16GB", "checkpoint_timeout": "1h", "autovacuum": "off",
    "max_connections": "100",
}  # fmt: skip


def planting(load: str) -> str:
    """The setting that holds what is planted."""
    return "commit_delay" if load == "delay" else "gin_fuzzy_search_limit"


def planted_settings(load: str, planted: int) -> dict[str, str]:
    """What a server is started with so that it has what is planted, beside `SETTINGS`."""
    more = {"delay": {"commit_siblings": "0"}, "read": {"shared_buffers": "16MB"}}.get(load, {})
    return {planting(load): str(planted), **more}
