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
--- case t01_timestamps ansi=false refused=TIMESTAMP
SELECT CAST(CAST(s AS TIMESTAMP) AS STRING) AS t FROM dates
--- case t09_boolean
SELECT CAST(s AS BOOLEAN) AS b FROM booleans
--- case t21_next_day refused=next_day
SELECT next_day(d, 'Mon') AS n FROM days WHERE d < DATE'9000-01-01'
--- case parts_of_dates
SELECT year(d) AS y, month(d) AS m, day(d) AS dd, dayofweek(d) AS w, weekday(d) AS wd, dayofyear(d) AS yd, quarter(d) AS q, weekofyear(d) AS wy, last_day(d) AS l FROM days
--- case date_arithmetic
SELECT date_add(d, 30) AS a, date_sub(d, 1) AS b, datediff(d, DATE'2000-01-01') AS c FROM days WHERE d < DATE'9000-01-01' AND d > DATE'1000-01-01'
--- case s01_substring
SELECT substring(a, -10, 3) AS s, substring(a, 0, 2) AS t, substring(a, -2) AS u, substring(b, 2, 2147483647) AS v FROM texts
--- case s04_case
SELECT upper(a) AS u, lower(b) AS l, upper(b) AS ub, lower(a) AS la FROM texts
--- case s24_bytes refused=BINARY
SELECT CAST(CAST(c AS STRING) AS BINARY) AS b FROM bytes
--- case concat_and_trim
SELECT concat(a, b, '!') AS c, trim(a) AS t, ltrim(a) AS l, rtrim(a) AS r, length(b) AS n FROM texts
--- case s06_replace refused=replace
SELECT replace(b, '', 'x') AS r FROM texts
--- case like_and_friends
SELECT a LIKE '%a%' AS l, b LIKE '_e%' AS m, contains(a, 'b') AS c, startswith(b, 'h') AS s, endswith(a, 'c') AS e FROM texts
--- case hour_of_a_timestamp refused=hour
SELECT hour(t) AS h FROM stamps
