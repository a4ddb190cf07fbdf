TRUNCATE pgassay_rows;
INSERT INTO pgassay_rows SELECT FROM generate_series(1, :loaded);
CHECKPOINT;
SELECT count(*) FROM pgassay_rows;
