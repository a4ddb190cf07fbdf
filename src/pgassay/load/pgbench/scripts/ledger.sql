\set sequence :sequence + 1
\set aid random(1, 100000 * :scale)
\set bid random(1, :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
WITH account AS (UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid RETURNING abalance) INSERT INTO pgassay_ledger (run, client, sequence, aid, tid, bid, delta, balance, at) SELECT :random_seed, :client_id, :sequence, :aid, :tid, :bid, :delta, abalance, clock_timestamp() FROM account;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
END;
