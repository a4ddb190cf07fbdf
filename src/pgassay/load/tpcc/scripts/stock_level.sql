-- TPC-C-like, not audited. Clause 2.8.1.
\set w random(1, :scale)
\set d random(1, 10)
\set threshold random(10, 20)
SELECT tpcc_stock_level(:w, :d, :threshold);
