-- A small TPC-C: keys of several columns, rows loaded by warehouse, some orders delivered and paid afterwards.
CREATE TABLE warehouse (w_id int PRIMARY KEY, w_name varchar(10) NOT NULL, w_tax numeric(4,4) NOT NULL, w_ytd numeric(12,2) NOT NULL);
CREATE TABLE district (
  d_w_id int NOT NULL REFERENCES warehouse, d_id int NOT NULL, d_name varchar(10) NOT NULL, d_tax numeric(4,4) NOT NULL,
  d_next_o_id int NOT NULL, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (
  c_w_id int NOT NULL, c_d_id int NOT NULL, c_id int NOT NULL, c_first varchar(16) NOT NULL, c_last varchar(16) NOT NULL,
  c_credit char(2) NOT NULL, c_since timestamp NOT NULL, c_balance numeric(12,2) NOT NULL, c_data varchar(500) NOT NULL,
  PRIMARY KEY (c_w_id, c_d_id, c_id), FOREIGN KEY (c_w_id, c_d_id) REFERENCES district);
CREATE TABLE item (i_id int PRIMARY KEY, i_im_id int NOT NULL, i_name varchar(24) NOT NULL, i_price numeric(5,2) NOT NULL, i_data varchar(50) NOT NULL);
CREATE TABLE stock (
  s_w_id int NOT NULL REFERENCES warehouse, s_i_id int NOT NULL REFERENCES item, s_quantity smallint NOT NULL,
  s_dist char(24) NOT NULL, s_ytd int NOT NULL, s_data varchar(50) NOT NULL, PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE orders (
  o_w_id int NOT NULL, o_d_id int NOT NULL, o_id int NOT NULL, o_c_id int NOT NULL, o_entry_d timestamp NOT NULL,
  o_carrier_id int, o_ol_cnt int NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id),
  FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer);
CREATE TABLE new_order (
  no_w_id int NOT NULL, no_d_id int NOT NULL, no_o_id int NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id),
  FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders);
CREATE TABLE order_line (
  ol_w_id int NOT NULL, ol_d_id int NOT NULL, ol_o_id int NOT NULL, ol_number int NOT NULL, ol_i_id int NOT NULL,
  ol_supply_w_id int NOT NULL, ol_delivery_d timestamp, ol_quantity smallint NOT NULL, ol_amount numeric(6,2) NOT NULL,
  ol_dist_info char(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number),
  FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders, FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock);

SELECT setseed(0.31);
INSERT INTO warehouse SELECT w, 'ware' || w, random() * 0.2, 300000 FROM generate_series(1, 3) w;
INSERT INTO district SELECT w, d, 'district' || d, random() * 0.2, 601 FROM generate_series(1, 3) w, generate_series(1, 10) d;
INSERT INTO customer SELECT w, d, c, 'first' || floor(random() * 1000), 'NAME' || floor(power(random(), 2) * 400),
  CASE WHEN random() < 0.1 THEN 'BC' ELSE 'GC' END, timestamp '2021-03-01' + c * interval '7 seconds', -10, repeat(md5(random()::text), 8 + floor(random() * 7)::int)
  FROM generate_series(1, 3) w, generate_series(1, 10) d, generate_series(1, 600) c;
INSERT INTO item SELECT i, 1 + floor(random() * 10000), 'item ' || substr(md5(i::text), 1, 10 + i % 9), 1 + random() * 99, substr(repeat(md5(i::text || 'x'), 2), 1, 26 + floor(random() * 24)::int)
  FROM generate_series(1, 5000) i;
INSERT INTO stock SELECT w, i, 10 + floor(random() * 91), substr(md5(random()::text), 1, 24), 0, substr(repeat(md5(random()::text), 2), 1, 26 + floor(random() * 24)::int)
  FROM generate_series(1, 3) w, generate_series(1, 5000) i;
INSERT INTO orders SELECT w, d, row_number() OVER (PARTITION BY w, d ORDER BY random()), c, timestamp '2021-03-02' + c * interval '11 seconds', NULL, 5 + floor(random() * 11)
  FROM generate_series(1, 3) w, generate_series(1, 10) d, generate_series(1, 600) c ORDER BY 1, 2, 3;
UPDATE orders SET o_carrier_id = 1 + floor(random() * 10) WHERE o_id <= 420;
INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > 420 ORDER BY 1, 2, 3;
INSERT INTO order_line SELECT o_w_id, o_d_id, o_id, n, 1 + floor(power(random(), 1.5) * 5000), CASE WHEN random() < 0.01 THEN 1 + floor(random() * 3) ELSE o_w_id END,
  CASE WHEN o_id <= 420 THEN o_entry_d END, 5, random() * 9000, substr(md5(random()::text), 1, 24)
  FROM orders, generate_series(1, o_ol_cnt) n ORDER BY 1, 2, 3, 4;
UPDATE customer SET c_balance = random() * 5000 - 1000 WHERE random() < 0.3;
UPDATE stock SET s_ytd = s_ytd + 5, s_quantity = 10 + floor(random() * 91) WHERE random() < 0.5;
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
