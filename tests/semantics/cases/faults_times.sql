-- The T rows of the list of faults (dates, timestamps, zones), and the functions over them. T24 needs TIME, which Spark 4.1 refuses by itself.
--- table t
SELECT id, timestamp_micros(m) AS t, CAST(timestamp_micros(m) AS TIMESTAMP_NTZ) AS n, CAST(timestamp_micros(m) AS DATE) AS d FROM VALUES (1, 0L), (2, -1L), (3, 25695000000000L), (4, 1705321845500000L), (5, 1730622600999999L), (6, 1730626200000000L), (7, 1710064800000000L), (8, -62135596800000000L), (9, 253402300799999999L), (10, -2717640001000001L), (11, 5680281600000000L), (12, CAST(NULL AS BIGINT)), (13, 9000000000000000000L), (14, 1583020800000000L) AS v(id, m)
--- table text
SELECT * FROM VALUES (1, '2020-1-1'), (2, '2020-01-01 12:34:5'), (3, '2020-10-01Z'), (4, '2020-01-01+05:30'), (5, '2020-10-01 UTC'), (6, '0002020-01-01 00:00:00'), (7, '2020-01-01 12:34:56.1٢٢٢'), (8, '2020'), (9, '2020-01'), (10, '2020-01-01T12'), (11, '2020-01-01T11:30+3:00') AS t(id, s)
--- table clock
SELECT * FROM VALUES (1, 'T2'), (2, '12:34:56.789'), (3, 'T2:3Z') AS t(id, s)
--- table bad
SELECT * FROM VALUES (1, '2016-02-30'), (2, '2016-13-01'), (3, '2016-01-32') AS t(id, s)
--- table parts
SELECT * FROM VALUES (1, 2020, 2, 29), (2, 2019, 2, 29), (3, 2020, 13, 1), (4, 2020, 4, 31), (5, 300000, 1, 1), (6, -44, 3, 15), (7, NULL, 1, 1), (8, 2020, 0, 1), (9, 2020, 1, 32) AS t(id, y, m, d)
--- table names
SELECT id, CAST(d AS DATE) AS d, n FROM VALUES (1, '2015-07-23', 'Mon'), (2, '2015-07-23', 'th'), (3, '2015-07-27', 'MONDAY'), (4, '0001-01-01', 'su'), (5, '2015-07-23', NULL), (6, '-0044-03-15', 'Fr') AS t(id, d, n)
--- table bad_names
SELECT id, CAST(d AS DATE) AS d, n FROM VALUES (1, '2020-01-01', 'xx'), (2, '2020-01-01', ' mon'), (3, '2020-01-01', '') AS t(id, d, n)
--- table seconds
SELECT id, i, l, CAST(x AS DOUBLE) AS x, CAST(x AS FLOAT) AS f FROM VALUES (1, 0, 0L, '0.5'), (2, -1, 1700000000L, '-1.5'), (3, 2147483647, 9000000000000L, '1.1'), (4, NULL, NULL, NULL), (5, 7, -9000000000000L, 'NaN'), (6, 7, 1L, '1e30'), (7, 8, 1L, 'Infinity') AS t(id, i, l, x)
--- case t01_t07_texts
SELECT id, TRY_CAST(s AS TIMESTAMP) AS v FROM text
--- case t07_time_alone
SELECT id, hour(CAST(s AS TIMESTAMP)) AS h, minute(CAST(s AS TIMESTAMP)) AS m, date_diff(CAST(s AS TIMESTAMP), current_date()) BETWEEN -1 AND 1 AS today FROM clock
--- case t10_bad_dates
SELECT id, CAST(s AS DATE) AS v FROM bad
--- case t10_bad_dates_in_filter
SELECT id FROM bad WHERE CAST(s AS DATE) < DATE'2020-01-01'
--- case t13_make_date ansi=false
SELECT id, CAST(make_date(y, m, d) AS STRING) AS v FROM parts
--- case t13_make_date_ansi ansi=true
SELECT id, CAST(make_date(y, m, d) AS STRING) AS v FROM parts WHERE id IN (1, 5, 6, 7)
--- case t15_make_date_month ansi=true
SELECT make_date(y, m, d) AS v FROM parts WHERE id = 3
--- case t15_make_date_leap ansi=true
SELECT make_date(y, m, d) AS v FROM parts WHERE id = 2
--- case t15_make_timestamp refused=make_timestamp
SELECT make_timestamp(y, m, d, 0, 0, 0) AS v FROM parts WHERE id = 3
--- case t18_trunc_pacific spark.sql.session.timeZone=America/Los_Angeles
SELECT id, CAST(date_trunc('YEAR', t) AS STRING) AS a, CAST(date_trunc('QUARTER', t) AS STRING) AS b, CAST(date_trunc('MONTH', t) AS STRING) AS c, CAST(date_trunc('WEEK', t) AS STRING) AS d, CAST(date_trunc('DAY', t) AS STRING) AS e, CAST(date_trunc('HOUR', t) AS BIGINT) AS f, CAST(date_trunc('MINUTE', t) AS STRING) AS g, CAST(date_trunc('SECOND', t) AS STRING) AS h, CAST(date_trunc('MILLISECOND', t) AS STRING) AS i, CAST(date_trunc('microsecond', t) AS STRING) AS j FROM t
--- case t18_trunc_lord_howe spark.sql.session.timeZone=Australia/Lord_Howe
SELECT id, CAST(date_trunc('HOUR', t) AS BIGINT) AS a, CAST(date_trunc('dd', t) AS BIGINT) AS b, CAST(date_trunc('yy', t) AS STRING) AS c FROM t
--- case t19_parts spark.sql.session.timeZone=America/Los_Angeles
SELECT id, hour(t) AS a, minute(t) AS b, second(t) AS c, hour(n) AS d, minute(n) AS e, second(n) AS f, unix_timestamp(t) AS g, unix_timestamp(n) AS h, unix_timestamp(d) AS i FROM t
--- case t19_parts_utc
SELECT id, hour(t) AS a, minute(t) AS b, second(t) AS c, unix_timestamp(t) AS d, unix_timestamp(n) AS e FROM t
--- case t21_next_day
SELECT id, CAST(next_day(d, n) AS STRING) AS v FROM names
--- case t22_bad_next_day
SELECT id, next_day(d, n) AS v FROM bad_names
--- case date_parts
SELECT id, year(d) AS a, quarter(d) AS b, month(d) AS c, weekofyear(d) AS e, day(d) AS f, dayofyear(d) AS g, dayofweek(d) AS h, weekday(d) AS i, dayname(d) AS j, monthname(d) AS k, CAST(last_day(d) AS STRING) AS l FROM t
--- case trunc_dates
SELECT id, CAST(trunc(d, 'YEAR') AS STRING) AS a, CAST(trunc(d, 'quarter') AS STRING) AS b, CAST(trunc(d, 'MM') AS STRING) AS c, CAST(trunc(d, 'week') AS STRING) AS e FROM t
--- case utc_shifts spark.sql.session.timeZone=Asia/Kolkata
SELECT id, CAST(from_utc_timestamp(t, 'America/Los_Angeles') AS BIGINT) AS a, CAST(to_utc_timestamp(t, 'America/Los_Angeles') AS BIGINT) AS b, CAST(from_utc_timestamp(t, 'PST') AS BIGINT) AS c, CAST(to_utc_timestamp(t, 'GMT+1') AS BIGINT) AS d, CAST(to_utc_timestamp(t, '-03:00') AS BIGINT) AS e FROM t
--- case convert_timezone
SELECT id, CAST(convert_timezone('Europe/Brussels', 'America/Los_Angeles', n) AS STRING) AS a FROM t
--- case timestamp_seconds
SELECT id, CAST(timestamp_seconds(i) AS STRING) AS a, CAST(timestamp_seconds(l) AS STRING) AS b, CAST(timestamp_seconds(x) AS STRING) AS c, CAST(timestamp_seconds(f) AS STRING) AS d FROM seconds
--- case unix_dates
SELECT id, CAST(date_from_unix_date(i) AS STRING) AS a FROM seconds WHERE id <> 3
--- case date_format refused=date_format
SELECT id, date_format(t, 'yyyy-MM-dd EEEE') AS a FROM t
--- case from_unixtime refused=from_unixtime
SELECT id, from_unixtime(l) AS a FROM seconds
