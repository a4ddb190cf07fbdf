-- TPC-C-like, not audited. Clause 2.6.1: 60 % of the customers are sought by name.
\set w random(1, :scale)
\set d random(1, 10)
\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\set name CASE WHEN random(1, 100) <= 60 THEN ((random(0, 255) | random(0, 999)) + 208) % 1000 ELSE -1 END
SELECT tpcc_order_status(:w, :d, :c, :name);
