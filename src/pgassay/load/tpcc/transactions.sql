-- The five transactions of TPC-C (specification 5.11, clauses 2.4 to 2.8), a function each; what a terminal would draw
-- comes from the pgbench scripts, but for the order lines, which are drawn here from a seed that the script draws.

-- Clause 4.3.2.3: a last name is three syllables, one for each digit.
CREATE OR REPLACE FUNCTION tpcc_last_name(number integer) RETURNS varchar LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT s[number / 100 + 1] || s[number / 10 % 10 + 1] || s[number % 10 + 1]
    FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'] AS s) AS syllables
$$;

-- Clause 2.5.2.2: of the customers with this name, in order of their first names, the one in the middle (rounded up).
CREATE OR REPLACE FUNCTION tpcc_customer(in_w integer, in_d integer, in_id integer, in_name integer)
RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_ids integer[];
BEGIN
    IF in_name < 0 THEN
        RETURN in_id;
    END IF;
    SELECT array_agg(c_id ORDER BY c_first) INTO found_ids FROM customer
    WHERE c_w_id = in_w AND c_d_id = in_d AND c_last = tpcc_last_name(in_name);
    RETURN found_ids[(cardinality(found_ids) + 1) / 2];
END
$$;

-- Clause 2.4. Returns the total amount; NULL where an item does not exist, and the script then rolls back.
CREATE OR REPLACE FUNCTION tpcc_new_order(
    in_w integer, in_d integer, in_c integer, in_lines integer, in_wrong boolean, in_warehouses integer, in_seed integer
) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    c_item CONSTANT integer := 7911;  -- C of NURand(8191, 1, 100000)
    items integer[];
    supplies integer[];
    w_tax_found numeric;
    d_tax_found numeric;
    o_id_found integer;
    discount numeric;
    customer_name varchar;
    credit char(2);
    price numeric;
    name varchar;
    data varchar;
    quantity integer;
    stock_left integer;
    dist_info char(24);
    stock_data varchar;
    amount numeric;
    total numeric := 0;
BEGIN
    PERFORM setseed(in_seed / 1e9);
    -- The lines in order of supplying warehouse and item, lest two orders wait for each other's stock.
    SELECT array_agg(i ORDER BY s, i), array_agg(s ORDER BY s, i) INTO items, supplies
    FROM (
        SELECT (((floor(random() * 8192)::integer | floor(1 + random() * 100000)::integer) + c_item) % 100000) + 1 AS i,
               CASE WHEN in_warehouses > 1 AND random() < 0.01
                    THEN (in_w + floor(random() * (in_warehouses - 1))::integer) % in_warehouses + 1
                    ELSE in_w END AS s
        FROM generate_series(1, in_lines)
    ) AS drawn;
    IF in_wrong THEN
        items[in_lines] := 0;
    END IF;

    SELECT w_tax INTO w_tax_found FROM warehouse WHERE w_id = in_w;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w AND d_id = in_d
    RETURNING d_tax, d_next_o_id - 1 INTO d_tax_found, o_id_found;
    SELECT c_discount, c_last, c_credit INTO discount, customer_name, credit FROM customer
    WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = in_c;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (o_id_found, in_d, in_w, in_c, localtimestamp, NULL, in_lines, (in_w = ALL (supplies))::integer);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (o_id_found, in_d, in_w);

    FOR line IN 1 .. in_lines LOOP
        SELECT i_price, i_name, i_data INTO price, name, data FROM item WHERE i_id = items[line];
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
        quantity := 1 + floor(random() * 10)::integer;
        UPDATE stock SET
            s_quantity = CASE WHEN s_quantity >= quantity + 10 THEN s_quantity - quantity
                              ELSE s_quantity - quantity + 91 END,
            s_ytd = s_ytd + quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + (supplies[line] <> in_w)::integer
        WHERE s_w_id = supplies[line] AND s_i_id = items[line]
        RETURNING s_quantity, s_data,
            CASE in_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                      WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                      WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
        INTO stock_left, stock_data, dist_info;
        amount := quantity * price;
        total := total + amount;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                ol_quantity, ol_amount, ol_dist_info)
        VALUES (o_id_found, in_d, in_w, line, items[line], supplies[line], NULL, quantity, amount, dist_info);
    END LOOP;
    RETURN total * (1 - discount) * (1 + w_tax_found + d_tax_found);
END
$$;

-- Clause 2.5. Returns the customer's balance.
CREATE OR REPLACE FUNCTION tpcc_payment(
    in_w integer, in_d integer, in_c_w integer, in_c_d integer, in_c integer, in_name integer, in_amount numeric
) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    w_name_found varchar;
    d_name_found varchar;
    customer_id integer;
    balance numeric;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w RETURNING w_name INTO w_name_found;
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w AND d_id = in_d
    RETURNING d_name INTO d_name_found;
    customer_id := tpcc_customer(in_c_w, in_c_d, in_c, in_name);
    UPDATE customer SET
        c_balance = c_balance - in_amount,
        c_ytd_payment = c_ytd_payment + in_amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC'
                      THEN left(format('%s %s %s %s %s %s|%s', c_id, c_d_id, c_w_id, in_d, in_w, in_amount, c_data), 500)
                      ELSE c_data END
    WHERE c_w_id = in_c_w AND c_d_id = in_c_d AND c_id = customer_id
    RETURNING c_balance INTO balance;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (customer_id, in_c_d, in_c_w, in_d, in_w, localtimestamp, in_amount,
            w_name_found || '    ' || d_name_found);
    RETURN balance;
END
$$;

-- Clause 2.6. Returns the number of lines of the customer's last order.
CREATE OR REPLACE FUNCTION tpcc_order_status(in_w integer, in_d integer, in_c integer, in_name integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    customer_id integer := tpcc_customer(in_w, in_d, in_c, in_name);
    customer_row record;
    order_row record;
    line record;
    lines integer := 0;
BEGIN
    SELECT c_balance, c_first, c_middle, c_last INTO customer_row FROM customer
    WHERE c_w_id = in_w AND c_d_id = in_d AND c_id = customer_id;
    SELECT o_id, o_entry_d, o_carrier_id INTO order_row FROM orders
    WHERE o_w_id = in_w AND o_d_id = in_d AND o_c_id = customer_id ORDER BY o_id DESC LIMIT 1;
    FOR line IN
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id = order_row.o_id
    LOOP
        lines := lines + 1;
    END LOOP;
    RETURN lines;
END
$$;

-- Clause 2.7: the oldest order of each district. Returns how many districts had one.
CREATE OR REPLACE FUNCTION tpcc_delivery(in_w integer, in_carrier integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    order_id integer;
    customer_id integer;
    total numeric;
    delivered integer := 0;
BEGIN
    FOR district_id IN 1 .. 10 LOOP
        LOOP  -- Another delivery may take the order first: then the next one is the oldest.
            SELECT min(no_o_id) INTO order_id FROM new_order WHERE no_w_id = in_w AND no_d_id = district_id;
            EXIT WHEN order_id IS NULL;
            DELETE FROM new_order WHERE no_w_id = in_w AND no_d_id = district_id AND no_o_id = order_id;
            EXIT WHEN FOUND;
        END LOOP;
        CONTINUE WHEN order_id IS NULL;
        UPDATE orders SET o_carrier_id = in_carrier
        WHERE o_w_id = in_w AND o_d_id = district_id AND o_id = order_id RETURNING o_c_id INTO customer_id;
        WITH lines AS (
            UPDATE order_line SET ol_delivery_d = localtimestamp
            WHERE ol_w_id = in_w AND ol_d_id = district_id AND ol_o_id = order_id RETURNING ol_amount
        )
        SELECT sum(ol_amount) INTO total FROM lines;
        UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = in_w AND c_d_id = district_id AND c_id = customer_id;
        delivered := delivered + 1;
    END LOOP;
    RETURN delivered;
END
$$;

-- Clause 2.8. Returns how many items of the last twenty orders are below the threshold.
CREATE OR REPLACE FUNCTION tpcc_stock_level(in_w integer, in_d integer, in_threshold integer)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    next_o_id integer;
    low bigint;
BEGIN
    SELECT d_next_o_id INTO next_o_id FROM district WHERE d_w_id = in_w AND d_id = in_d;
    SELECT count(DISTINCT s_i_id) INTO low FROM order_line
    JOIN stock ON s_w_id = in_w AND s_i_id = ol_i_id
    WHERE ol_w_id = in_w AND ol_d_id = in_d AND ol_o_id >= next_o_id - 20 AND ol_o_id < next_o_id
        AND s_quantity < in_threshold;
    RETURN low;
END
$$;
