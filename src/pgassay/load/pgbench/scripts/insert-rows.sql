INSERT INTO pgassay_rows SELECT FROM generate_series(1, :rows);
