-- Casts from columns (literals would be folded by the optimizer).
--- table strings
SELECT * FROM VALUES (1, '12'), (2, ' 7 '), (3, '-128'), (4, '128'), (5, 'abc'), (6, ''), (7, CAST(NULL AS STRING)), (8, '1.5'),
  (9, '9223372036854775807'), (10, '9223372036854775808'), (11, '+3'), (12, '1e2') AS t(id, s)
--- table good_strings
SELECT * FROM VALUES (1, '12'), (2, ' 7 '), (3, '-128'), (4, CAST(NULL AS STRING)), (5, '+3') AS t(id, s)
--- table dates
SELECT * FROM VALUES (1, '2020-02-29'), (2, '2020-1-5'), (3, '1999'), (4, '2001-07'), (5, ' 2020-12-31 '), (6, CAST(NULL AS STRING)) AS t(id, s)
--- table bad_dates
SELECT * FROM VALUES (1, '2019-02-29'), (2, '2020-13-01'), (3, 'tomorrow'), (4, '2020-01-32') AS t(id, s)
--- table numbers
SELECT id, CAST(i AS INT) AS i, CAST(l AS BIGINT) AS l, CAST(d AS DOUBLE) AS d, CAST(c AS DECIMAL(12, 2)) AS c FROM VALUES
  (1, 0, 0, '0.0', '0.00'), (2, 127, 40000, '1.5', '12.345'), (3, -129, -5000000000, '-2.5', '-99.99'),
  (4, 2147483647, 9223372036854775807, '1e10', '9999999999.99'), (5, NULL, NULL, NULL, NULL), (6, 65, 65, '-0.0', '0.5') AS t(id, i, l, d, c)
--- table special
SELECT id, CAST(d AS DOUBLE) AS d FROM VALUES (1, 'NaN'), (2, 'Infinity'), (3, '-Infinity'), (4, '1e300'), (5, '-1e300') AS t(id, d)
--- case string_to_int_good
SELECT id, CAST(s AS INT) AS v FROM good_strings
--- case string_to_int
SELECT id, CAST(s AS INT) AS v FROM strings
--- case string_to_tinyint
SELECT id, CAST(s AS TINYINT) AS v FROM strings
--- case string_to_bigint
SELECT id, CAST(s AS BIGINT) AS v FROM strings
--- case string_to_double
SELECT id, CAST(s AS DOUBLE) AS v FROM strings WHERE id IN (1, 2, 3, 8, 12)
--- case string_to_decimal
SELECT id, CAST(s AS DECIMAL(10, 1)) AS v FROM strings WHERE id IN (1, 2, 3, 7, 8, 11, 12)
--- case try_cast_string
SELECT id, TRY_CAST(s AS INT) AS a, TRY_CAST(s AS DECIMAL(5, 2)) AS b FROM strings
--- case string_to_date
SELECT id, CAST(s AS DATE) AS v FROM dates
--- case bad_string_to_date
SELECT id, CAST(s AS DATE) AS v FROM bad_dates
--- case bad_date_in_filter
SELECT id FROM bad_dates WHERE CAST(s AS DATE) > DATE'2000-01-01'
--- case int_to_tinyint
SELECT id, CAST(i AS TINYINT) AS v FROM numbers
--- case bigint_to_int
SELECT id, CAST(l AS INT) AS v FROM numbers
--- case int_to_decimal
SELECT id, CAST(i AS DECIMAL(12, 3)) AS v FROM numbers
--- case int_to_narrow_decimal
SELECT id, CAST(i AS DECIMAL(4, 2)) AS v FROM numbers
--- case decimal_to_int
SELECT id, CAST(c AS INT) AS v FROM numbers WHERE id <> 4
--- case decimal_to_int_overflow
SELECT id, CAST(c AS INT) AS v FROM numbers
--- case decimal_to_double
SELECT id, CAST(c AS DOUBLE) AS v FROM numbers
--- case decimal_rescale
SELECT id, CAST(c AS DECIMAL(11, 1)) AS a, CAST(c AS DECIMAL(20, 6)) AS b FROM numbers
--- case decimal_too_narrow
SELECT id, CAST(c AS DECIMAL(4, 2)) AS a FROM numbers
--- case double_to_bigint
SELECT id, CAST(d AS BIGINT) AS v FROM numbers
--- case special_double_to_int
SELECT id, CAST(d AS INT) AS v FROM special
--- case special_double_to_decimal
SELECT id, CAST(d AS DECIMAL(10, 2)) AS v FROM special WHERE id <= 3
--- case numbers_to_string
SELECT id, CAST(i AS STRING) AS a, CAST(l AS STRING) AS b, CAST(c AS STRING) AS c FROM numbers
--- case double_to_string refused=the text depends on the Java version
SELECT id, CAST(d AS STRING) AS v FROM numbers
--- case bool_and_back
SELECT id, CAST(i AS BOOLEAN) AS a, CAST(i > 0 AS INT) AS b FROM numbers
