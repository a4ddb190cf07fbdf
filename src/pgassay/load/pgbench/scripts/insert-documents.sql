INSERT INTO pgassay_inserted (document) SELECT pgassay_document(:corpus, number) FROM generate_series(1, :rows) number;
