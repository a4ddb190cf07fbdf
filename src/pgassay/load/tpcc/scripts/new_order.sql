-- TPC-C-like, not audited. Clause 2.4.1: :scale is the number of warehouses; 1 % of the orders hold a wrong item.
\set w random(1, :scale)
\set d random(1, 10)
\set c ((random(0, 1023) | random(1, 3000)) + 259) % 3000 + 1
\set lines random(5, 15)
\set wrong random(1, 100)
\set seed random(0, 1000000000)
\if :wrong = 1
BEGIN;
SELECT tpcc_new_order(:w, :d, :c, :lines, true, :scale, :seed);
ROLLBACK;
\else
SELECT tpcc_new_order(:w, :d, :c, :lines, false, :scale, :seed);
\endif
