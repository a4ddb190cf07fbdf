\set low random(1, :rows - :width + 1)
\set high :low + :width - 1
SELECT count(*), sum(length(body)) FROM pgassay_rows WHERE key BETWEEN :low AND :high;
