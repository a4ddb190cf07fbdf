-- A web shop: few customers buy most, few products sell best, countries and states are skewed, old rows were updated.
CREATE TYPE channel AS ENUM ('web', 'app', 'phone', 'partner');
CREATE TABLE users (
  id bigserial PRIMARY KEY, email text NOT NULL UNIQUE, name text NOT NULL, country char(2) NOT NULL, created_at timestamptz NOT NULL,
  newsletter boolean NOT NULL, credit numeric(10,2), referrer_id bigint REFERENCES users, note text);
CREATE TABLE products (
  id serial PRIMARY KEY, sku varchar(20) NOT NULL UNIQUE, category text NOT NULL, price numeric(10,2) NOT NULL,
  description text NOT NULL, attributes jsonb NOT NULL, retired_on date);
CREATE TABLE orders (
  id bigserial PRIMARY KEY, user_id bigint NOT NULL REFERENCES users, status text NOT NULL
    CHECK (status IN ('open', 'paid', 'sent', 'returned')), channel channel NOT NULL, placed_at timestamptz NOT NULL,
  sent_at timestamptz, total numeric(12,2) NOT NULL, address inet);
CREATE TABLE order_items (
  order_id bigint NOT NULL REFERENCES orders, product_id int NOT NULL REFERENCES products, quantity smallint NOT NULL,
  price numeric(10,2) NOT NULL, PRIMARY KEY (order_id, product_id));
CREATE TABLE reviews (
  id uuid PRIMARY KEY, product_id int NOT NULL REFERENCES products, user_id bigint NOT NULL REFERENCES users,
  rating smallint NOT NULL, written_on date NOT NULL, body text NOT NULL, UNIQUE (product_id, user_id));

SELECT setseed(0.57);
INSERT INTO users SELECT i, 'user' || i || '@' || (ARRAY['example.org', 'mail.test', 'shop.test'])[1 + floor(power(random(), 2) * 3)],
  initcap(substr(md5(random()::text), 1, 4 + floor(random() * 8)::int)), (ARRAY['DE', 'FR', 'US', 'GB', 'AT', 'CH', 'NL', 'PL', 'SE', 'IS'])[1 + floor(power(random(), 3) * 10)],
  timestamptz '2019-01-01' + i * interval '3 hours' * random(), random() < 0.8, CASE WHEN random() < 0.1 THEN random() * 100 END,
  CASE WHEN i > 10 AND random() < 0.2 THEN 1 + floor(random() * (i - 1)) END, CASE WHEN random() < 0.05 THEN repeat(md5(random()::text), 6) END
  FROM generate_series(1, 20000) i;
INSERT INTO products SELECT i, 'SKU-' || lpad((i * 7919 % 100000)::text, 6, '0'), (ARRAY['books', 'music', 'toys', 'garden', 'kitchen', 'sports', 'shoes', 'lamps'])[1 + floor(power(random(), 2) * 8)],
  round((power(random(), 3) * 500)::numeric, 2) + 0.99, repeat(md5(random()::text), 2 + floor(random() * 12)::int),
  jsonb_build_object('weight', floor(random() * 900), 'colour', md5(random()::text)), CASE WHEN random() < 0.15 THEN date '2022-01-01' + floor(random() * 700)::int END
  FROM generate_series(1, 2500) i;
INSERT INTO orders SELECT i, 1 + floor(power(random(), 3) * 20000), (ARRAY['sent', 'paid', 'returned', 'open'])[1 + floor(power(random(), 4) * 4)],
  (ARRAY['web', 'app', 'phone', 'partner'])[1 + floor(power(random(), 2) * 4)]::channel, timestamptz '2022-01-01' + i * interval '9 minutes',
  NULL, round((random() * 300)::numeric, 2), ('192.168.' || floor(random() * 250) || '.' || floor(random() * 250))::inet
  FROM generate_series(1, 60000) i;
UPDATE orders SET sent_at = placed_at + random() * interval '5 days' WHERE status IN ('sent', 'returned') AND random() < 0.9;
INSERT INTO order_items SELECT DISTINCT ON (1, 2) o, 1 + floor(power(random(), 2.5) * 2500), 1 + floor(power(random(), 4) * 9), round((random() * 200)::numeric, 2)
  FROM generate_series(1, 60000) o, generate_series(1, 3) n ORDER BY 1, 2;
INSERT INTO reviews SELECT DISTINCT ON (2, 3) gen_random_uuid(), 1 + floor(power(random(), 2) * 2500), 1 + floor(power(random(), 2) * 20000), 5 - floor(power(random(), 2) * 5),
  date '2022-01-01' + floor(random() * 1000)::int, repeat(md5(random()::text), 1 + floor(random() * 20)::int) FROM generate_series(1, 15000);
CREATE INDEX orders_user ON orders (user_id);
CREATE INDEX orders_placed ON orders (placed_at);
CREATE INDEX orders_open ON orders (placed_at) WHERE status = 'open';
CREATE INDEX items_product ON order_items (product_id);
CREATE INDEX products_category ON products (category, price);
CREATE INDEX users_country ON users (country);
CREATE INDEX reviews_user ON reviews (user_id);
DELETE FROM order_items WHERE random() < 0.1;
