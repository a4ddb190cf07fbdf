-- TPC-C-like, not audited. Clause 2.7.1; delivered at once, not deferred.
\set w random(1, :scale)
\set carrier random(1, 10)
SELECT tpcc_delivery(:w, :carrier);
