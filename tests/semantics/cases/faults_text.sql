-- Faults that other native engines had with casts from text, dates, strings and arrays (the T and S rows of the list of faults), on columns.
--- table dates
SELECT * FROM VALUES ('2020-1-1'), ('2020-01-01 12:34:5'), ('2020-10-01Z'), ('2020-01-01+05:30'), ('0002020-01-01'), ('2020'), ('2020-01'), ('2020-01-01T12'), ('300000-01-01'), ('-4607172990231812908'), (' 2020-02-29 '),
  ('2019-02-29'), (''), (NULL), ('0001-01-01'), ('9999-12-31'), ('+2020-01-01'), ('2020-01-01abc') AS t(s)
--- table good_dates
SELECT * FROM VALUES ('2020-1-1'), ('2020'), ('2020-01'), (' 2020-02-29 '), ('2020-01-01 12:34:5'), (NULL), ('0001-01-01'), ('9999-12-31') AS t(s)
--- table bad_dates
SELECT * FROM VALUES ('2016-02-30') AS t(s)
--- table booleans
SELECT * FROM VALUES (concat(chr(1), 'true')), ('t'), ('YES'), ('0'), ('off'), (' n '), (NULL) AS t(s)
--- table texts
SELECT * FROM VALUES ('abc', 'hello'), ('hi', ''), ('straße', 'İstanbul'), ('ΑΣ', 'ǆ'), ('naïve', 'ﬁ'), ('', NULL), (' x ', 'äöü') AS t(a, b)
--- table bytes
SELECT CAST(X'48656C6C6F' AS BINARY) AS b, CAST(X'C1' AS BINARY) AS c
--- table days
SELECT CAST(d AS DATE) AS d FROM VALUES ('2015-07-23'), ('2020-02-29'), ('0001-01-01'), ('9999-12-31'), (NULL) AS t(d)
--- table stamps
SELECT CAST(t AS TIMESTAMP) AS t FROM VALUES ('2020-01-15 12:30:45'), ('1970-10-25 01:30:00'), ('1582-10-04 00:00:00'), (NULL) AS t(t)
--- case t03_t04_t07_dates ansi=false
SELECT s, datediff(CAST(s AS DATE), DATE'2000-01-01') AS d FROM dates
--- case t07_good_dates
SELECT CAST(s AS DATE) AS d FROM good_dates
--- case t10_bad_date
SELECT CAST(s AS DATE) AS d FROM bad_dates
--- case t10_bad_date_in_a_filter
SELECT s FROM bad_dates WHERE CAST(s AS DATE) > DATE'2000-01-01'
--- case t12_year_of_a_date ansi=false
SELECT year(CAST(s AS DATE)) AS y FROM dates
--- case t01_timestamps ansi=false
SELECT CAST(CAST(s AS TIMESTAMP) AS STRING) AS t FROM dates
--- case t09_boolean
SELECT CAST(s AS BOOLEAN) AS b FROM booleans
--- case t21_next_day
SELECT next_day(d, 'Mon') AS n FROM days WHERE d < DATE'9000-01-01'
--- case parts_of_dates
SELECT year(d) AS y, month(d) AS m, day(d) AS dd, dayofweek(d) AS w, weekday(d) AS wd, dayofyear(d) AS yd, quarter(d) AS q, weekofyear(d) AS wy, last_day(d) AS l FROM days
--- case date_arithmetic
SELECT date_add(d, 30) AS a, date_sub(d, 1) AS b, datediff(d, DATE'2000-01-01') AS c FROM days WHERE d < DATE'9000-01-01' AND d > DATE'1000-01-01'
--- case s01_substring
SELECT substring(a, -10, 3) AS s, substring(a, 0, 2) AS t, substring(a, -2) AS u, substring(b, 2, 2147483647) AS v FROM texts
--- case s04_case
SELECT upper(a) AS u, lower(b) AS l, upper(b) AS ub, lower(a) AS la FROM texts
--- case s24_bytes
SELECT CAST(CAST(b AS STRING) AS BINARY) AS b FROM bytes
--- case concat_and_trim
SELECT concat(a, b, '!') AS c, trim(a) AS t, ltrim(a) AS l, rtrim(a) AS r, length(b) AS n FROM texts
--- table lists
SELECT id, a, CAST(e AS ARRAY<INT>) AS e FROM VALUES (1, array(3, 2, 1), array()), (2, array(1, NULL, 3), array(2)), (3, NULL, NULL) AS t(id, a, e)
--- case s03_pads_by_columns refused=pad
SELECT lpad(a, -1, 'x') AS l, rpad(a, -1, 'x') AS r, lpad(a, 5, b) AS m, rpad(a, 0, 'x') AS n FROM texts
--- case s03_pads
SELECT lpad(a, -1, 'x') AS l, rpad(a, -1, 'x') AS r, lpad(a, 5, 'äö') AS m, rpad(a, 0, 'x') AS n FROM texts
--- case s06_replace
SELECT replace(b, '', 'x') AS r FROM texts
--- case s07_translate
SELECT translate(a, 'ab', '\u0000') AS r, translate(a, 'aß', 'é') AS t, translate('e\u0301', 'e', a) AS u FROM texts
--- case s09_sizes_of_bytes refused=BinaryType
SELECT bit_length(b) AS x, octet_length(b) AS y FROM bytes
--- case s09_sizes_of_text
SELECT bit_length(a) AS x, octet_length(b) AS y FROM texts
--- case s10_concat_of_bytes refused=CONCAT
SELECT concat(b, c) AS x FROM bytes
--- case s10_concat_of_arrays refused=CONCAT
SELECT concat(a, e) AS x FROM lists
--- case s12_rlike refused=RLIKE
SELECT a RLIKE '(?i)STRASSE' AS y FROM texts
--- case s12_rlike_digits
SELECT a RLIKE '^\\d$' AS x, b RLIKE 'l+o$' AS y FROM texts
--- case s13_split refused=split
SELECT split(a, '') AS x, split(b, 'l', 2) AS y FROM texts
--- case s15_json refused=get_json_object
SELECT get_json_object(concat('{"s":', a, '}'), '$.s') AS x FROM texts
--- case s16_str_to_map refused=str_to_map
SELECT str_to_map(concat('a:1,a:', b)) AS x FROM texts
--- case s16_str_to_map_last_wins spark.sql.mapKeyDedupPolicy=LAST_WIN refused=spark.sql.mapKeyDedupPolicy
SELECT str_to_map(concat('a:1,a:', b)) AS x FROM texts
--- case s18_array_contains
SELECT id, array_contains(a, 1) AS x, array_contains(e, 2) AS y, array_contains(a, 2) AS z FROM lists
--- case s19_array_position
SELECT id, array_position(a, 9) AS x, array_position(a, 1) AS y FROM lists
--- case s21_element_out_of_bounds
SELECT id, element_at(a, 5) AS x FROM lists
--- case s21_element_zero
SELECT id, element_at(a, id - id) AS x FROM lists
--- case s21_item_out_of_bounds
SELECT id, a[10] AS x FROM lists
--- case s22_collation refused=collat
SELECT a = 'ABC' COLLATE UTF8_LCASE AS x FROM texts
--- case s22_collated_functions refused=collat
SELECT trim(a COLLATE UTF8_LCASE) AS x, lower(a COLLATE UNICODE_CI) AS y FROM texts
--- case like_and_friends
SELECT a LIKE '%a%' AS l, b LIKE '_e%' AS m, contains(a, 'b') AS c, startswith(b, 'h') AS s, endswith(a, 'c') AS e FROM texts
--- case hour_of_a_timestamp
SELECT hour(t) AS h FROM stamps
