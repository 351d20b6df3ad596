-- Casts from STRING to every type that Comet sends, in the three modes, over the edges of Java's and Spark's syntax.
--- table numbers
SELECT * FROM VALUES (1, '0'), (2, ' 12 '), (3, '-128'), (4, '128'), (5, '2147483648'), (6, '-9223372036854775808'), (7, '9223372036854775808'), (8, '1.9'), (9, '.5'), (10, '5.'), (11, '.'), (12, ''), (13, '1e3'), (14, '1.5E-2'),
  (15, 'Infinity'), (16, '-inf'), (17, 'nan'), (18, '1.0f'), (19, '2d'), (20, concat(chr(1), '7', chr(127))), (21, 'x'), (22, '+3'), (23, '--3'), (24, '1_0'), (25, '12345678901234567890123456789012345678'), (26, '-0.0'), (27, '99999999.995'), (28, CAST(NULL AS STRING)), (29, concat(chr(9), '8', chr(10))) AS t(id, s)
--- table good_numbers
SELECT * FROM VALUES (1, '0'), (2, ' 12 '), (3, '-128'), (4, '+3'), (5, concat(chr(1), '7', chr(127))), (6, CAST(NULL AS STRING)) AS t(id, s)
--- table booleans
SELECT * FROM VALUES (1, 't'), (2, ' TRUE '), (3, 'yEs'), (4, '1'), (5, 'f'), (6, 'no'), (7, '0'), (8, concat(chr(1), 'true')), (9, CAST(NULL AS STRING)), (10, 'on'), (11, '2'), (12, '') AS t(id, s)
--- table days
SELECT * FROM VALUES (1, '2020'), (2, '2020-1'), (3, '2020-1-5'), (4, ' 2020-12-31 '), (5, '2020-01-01T12'), (6, '2020-01-01 foo'), (7, '-0001-01-01'), (8, '+10000-01-01'), (9, '300000-01-01'), (10, '0002020-01-01'), (11, CAST(NULL AS STRING)), (12, '0000-01-01'), (13, '5881580-07-11') AS t(id, s)
--- table bad_days
SELECT * FROM VALUES (1, '2020-13-01'), (2, '2016-02-30'), (3, '2016-01-32'), (4, ''), (5, '20'), (6, '2020-1-'), (7, '-4607172990231812908'), (8, '2020-01-01Z'), (9, '5881580-07-12'), (10, '00002020-01-01') AS t(id, s)
--- table moments
SELECT * FROM VALUES (1, '2020-1-1'), (2, '2020-01-01 12:34:5'), (3, '2020'), (4, '2020-01'), (5, '2020-01-01T12'), (6, ' 2020-01-01 1:2:3.5 '), (7, '2020-01-01 00:00:00.1234567'), (8, '2020-01-01 00:00:00Z'), (9, '2020-01-01 00:00:00+5:30'), (10, '2020-01-01 00:00:00 GMT+1'),
  (11, '2020-01-01 00:00:00 UTC-01:30'), (12, '2020-07-01 00:00:00PST'), (13, '2020-07-01 00:00:00 Europe/Paris'), (14, '2024-03-10 02:30:00'), (15, '2024-11-03 01:30:00'), (16, '0001-01-01 00:00:00'), (17, '-0001-01-01 00:00:00'), (18, '9999-12-31 23:59:59.999999'), (19, '+123456-07-01 00:00:00'), (20, '1883-11-18 12:00:00'), (21, CAST(NULL AS STRING)),
  (22, '294247-01-10T04:00:54.775807Z'), (23, '-290308-12-21T19:59:05.224192Z'), (24, '2150-07-01 12:00:00'), (25, '2020-01-01 00:00:00+01:02:03'), (26, '2020-01-01 00:00:00EST'), (27, '2020-01-01 00:00:00.'), (28, '2020-01-01 00:00:00-08') AS t(id, s)
--- table bad_moments
SELECT * FROM VALUES (1, '2020-10-01Z'), (2, '2020-01-01+05:30'), (3, '2020-10-01 UTC'), (4, '0002020-01-01 00:00:00'), (5, '2020-01-01 12:34:56.1٢٢٢'), (6, '2020-01-01 24:00:00'), (7, '2020-02-30'), (8, '2020-01-01T'), (9, ''), (10, '2020-01-01 00:00:00 nowhere'), (11, '2020-01-01 00:00:00+19:00'), (12, '294247-01-10T04:00:54.775808Z'), (13, '2020-01-01 00:00:00 utc'), (14, '20200101'), (15, '2020-01-01 0:0:60') AS t(id, s)
--- case try_numbers
SELECT id, TRY_CAST(s AS TINYINT) AS a, TRY_CAST(s AS SMALLINT) AS b, TRY_CAST(s AS INT) AS c, TRY_CAST(s AS BIGINT) AS d, TRY_CAST(s AS FLOAT) AS e, TRY_CAST(s AS DOUBLE) AS f, TRY_CAST(s AS DECIMAL(10, 2)) AS g, TRY_CAST(s AS DECIMAL(38, 18)) AS h, CAST(TRY_CAST(s AS BINARY) AS STRING) AS i FROM numbers
--- case legacy_numbers ansi=false
SELECT id, CAST(s AS TINYINT) AS a, CAST(s AS SMALLINT) AS b, CAST(s AS INT) AS c, CAST(s AS BIGINT) AS d, CAST(s AS FLOAT) AS e, CAST(s AS DOUBLE) AS f, CAST(s AS DECIMAL(10, 2)) AS g, CAST(s AS DECIMAL(38, 18)) AS h, CAST(s AS BINARY) AS i FROM numbers
--- case ansi_numbers ansi=true
SELECT id, CAST(s AS TINYINT) AS a, CAST(s AS SMALLINT) AS b, CAST(s AS INT) AS c, CAST(s AS BIGINT) AS d, CAST(s AS FLOAT) AS e, CAST(s AS DOUBLE) AS f, CAST(s AS DECIMAL(10, 2)) AS g, CAST(s AS BINARY) AS i FROM good_numbers
--- case ansi_overflow ansi=true
SELECT CAST(s AS TINYINT) AS v FROM numbers WHERE id = 4
--- case ansi_fraction ansi=true
SELECT CAST(s AS BIGINT) AS v FROM numbers WHERE id = 8
--- case ansi_bad_double ansi=true
SELECT CAST(s AS DOUBLE) AS v FROM numbers WHERE id = 21
--- case ansi_decimal_overflow ansi=true
SELECT CAST(s AS DECIMAL(10, 2)) AS v FROM numbers WHERE id = 25
--- case ansi_bad_decimal ansi=true
SELECT CAST(s AS DECIMAL(10, 2)) AS v FROM numbers WHERE id = 15
--- case booleans
SELECT id, TRY_CAST(s AS BOOLEAN) AS a FROM booleans
--- case legacy_booleans ansi=false
SELECT id, CAST(s AS BOOLEAN) AS a FROM booleans
--- case ansi_booleans ansi=true
SELECT id, CAST(s AS BOOLEAN) AS a FROM booleans WHERE id < 10
--- case ansi_bad_boolean ansi=true
SELECT id, CAST(s AS BOOLEAN) AS a FROM booleans
--- case days
SELECT id, CAST(CAST(s AS DATE) AS STRING) AS a, datediff(CAST(s AS DATE), DATE'1970-01-01') AS b FROM days
--- case bad_days
SELECT id, TRY_CAST(s AS DATE) AS a FROM bad_days
--- case bad_days_cast
SELECT id, CAST(s AS DATE) AS a FROM bad_days
--- case moments spark.sql.session.timeZone=UTC
SELECT id, unix_timestamp(CAST(s AS TIMESTAMP)) AS a, CAST(CAST(s AS TIMESTAMP) AS STRING) AS b, CAST(CAST(s AS TIMESTAMP_NTZ) AS STRING) AS c FROM moments
--- case moments_pacific spark.sql.session.timeZone=America/Los_Angeles
SELECT id, CAST(CAST(s AS TIMESTAMP) AS BIGINT) AS a, CAST(CAST(s AS TIMESTAMP) AS STRING) AS b, CAST(CAST(s AS TIMESTAMP_NTZ) AS STRING) AS c FROM moments
--- case moments_india spark.sql.session.timeZone=+05:30
SELECT id, CAST(CAST(s AS TIMESTAMP) AS BIGINT) AS a, CAST(CAST(s AS TIMESTAMP) AS STRING) AS b FROM moments
--- case bad_moments
SELECT id, TRY_CAST(s AS TIMESTAMP) AS a, TRY_CAST(s AS TIMESTAMP_NTZ) AS b FROM bad_moments
--- case bad_moments_cast
SELECT id, CAST(s AS TIMESTAMP) AS a FROM bad_moments
--- case bad_moments_cast_ntz
SELECT id, CAST(s AS TIMESTAMP_NTZ) AS a FROM bad_moments
--- case legacy_policy spark.sql.legacy.timeParserPolicy=LEGACY
SELECT id, CAST(CAST(s AS TIMESTAMP) AS STRING) AS a FROM moments WHERE id <= 15
--- case legacy_policy_date spark.sql.legacy.timeParserPolicy=LEGACY refused=a date as text
SELECT id, CAST(CAST(s AS DATE) AS STRING) AS a FROM days
