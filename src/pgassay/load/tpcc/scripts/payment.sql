-- TPC-C-like, not audited. Clause 2.5.1: 15 % of the customers belong to another warehouse, 60 % are sought by name.
\set w random(1, :scale)
\set d random(1, 10)
\set remote CASE WHEN :scale > 1 AND random(1, 100) <= 15 THEN 1 ELSE 0 END
\set c_w CASE WHEN :remote = 1 THEN (:w + random(0, :scale - 2)) % :scale + 1 ELSE :w END
\set c_d CASE WHEN :remote = 1 THEN random(1, 10) ELSE :d END
\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\set name CASE WHEN random(1, 100) <= 60 THEN ((random(0, 255) | random(0, 999)) + 208) % 1000 ELSE -1 END
\set cents random(100, 500000)
SELECT tpcc_payment(:w, :d, :c_w, :c_d, :c, :name, :cents / 100.0);
