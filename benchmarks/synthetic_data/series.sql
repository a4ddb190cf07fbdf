-- Time series: appended in the order of time, a few sensors send more often, old rows were deleted; a BRIN index.
CREATE TYPE severity AS ENUM ('debug', 'info', 'warning', 'error');
CREATE TABLE sensors (id int PRIMARY KEY, name text NOT NULL UNIQUE, site text NOT NULL, installed_on date NOT NULL, labels text[] NOT NULL);
CREATE TABLE readings (
  sensor_id int NOT NULL REFERENCES sensors, at timestamptz NOT NULL, value double precision, quality smallint NOT NULL,
  PRIMARY KEY (sensor_id, at));
CREATE TABLE events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sensor_id int REFERENCES sensors, at timestamptz NOT NULL,
  severity severity NOT NULL, message text NOT NULL, payload bytea);

SELECT setseed(0.83);
INSERT INTO sensors SELECT i, 'sensor-' || lpad(i::text, 5, '0'), 'site ' || chr(65 + floor(power(random(), 2) * 12)::int), date '2020-01-01' + i, ARRAY['a' || i % 7, 'b' || i % 3]
  FROM generate_series(1, 300) i;
INSERT INTO readings SELECT s, timestamptz '2024-05-01' + t * interval '5 minutes', CASE WHEN random() < 0.98 THEN 20 + 5 * sin(t / 45.0) + random() END, CASE WHEN random() < 0.97 THEN 0 ELSE 1 + floor(random() * 4) END
  FROM generate_series(1, 1200) t, generate_series(1, 300) s WHERE s <= 60 OR t % 3 = 0 ORDER BY t, s;
INSERT INTO events (sensor_id, at, severity, message, payload) SELECT CASE WHEN random() < 0.9 THEN 1 + floor(power(random(), 3) * 300) END, timestamptz '2024-05-01' + i * interval '9 seconds',
  (ARRAY['info', 'debug', 'warning', 'error'])[1 + floor(power(random(), 3) * 4)]::severity, 'message ' || floor(power(random(), 3) * 500) || ' of unit ' || floor(random() * 20),
  CASE WHEN random() < 0.1 THEN decode(repeat(md5(random()::text), 4), 'hex') END FROM generate_series(1, 40000) i;
CREATE INDEX readings_at ON readings USING brin (at) WITH (pages_per_range = 16);
CREATE INDEX events_at ON events (at);
CREATE INDEX events_sensor ON events (sensor_id, at);
DELETE FROM readings WHERE at < timestamptz '2024-05-01' + interval '10 hours';
