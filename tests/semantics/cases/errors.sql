-- What a failing query tells: exception, SQLSTATE, parameters, place in the text. One row fails for each reason, so that every run tells the same.
--- table n files=2
SELECT id, CAST(a AS INT) AS a, CAST(z AS INT) AS z, CAST(a AS BIGINT) AS l, CAST(t AS TINYINT) AS t, CAST(t AS SMALLINT) * 256S AS s, CAST(d AS DECIMAL(20,0)) AS d, CAST(e AS DECIMAL(38,2)) AS e,
  CAST(f AS DOUBLE) AS f, g
FROM VALUES (1, 10, 0, 100, 11000000000000000000, '1', '1e300', 'q1'), (2, 2147483647, 2, 127, 5, '999999999999999999999999999999999999.99', '2.5', '12'),
  (3, -2147483648, -1, -128, 7, '3.25', 'NaN', '7'), (4, 4, 1, 4, 8, '4', '4', '4') AS v(id, a, z, t, d, e, f, g)
--- table big
SELECT id, CAST(l AS BIGINT) AS l, k FROM VALUES (1, '9223372036854775807', 1), (2, '5', 1), (3, '-9223372036854775808', 2), (4, '-1', 2) AS v(id, l, k)
--- table wide
SELECT id, CAST(e AS DECIMAL(38,2)) AS e, CAST(concat('-', e) AS DECIMAL(38,2)) AS m, CAST(c AS DECIMAL(36,30)) AS c,
  array(CAST(e AS DECIMAL(38,2)), CAST(e AS DECIMAL(38,2)), CAST(concat('-', e) AS DECIMAL(38,2))) AS v FROM VALUES (1, '3.25', '-1.5'),
  (2, '999999999999999999999999999999999999.99', '2'), (3, '123456789012345678901234567890123456.78', '-123456.123456789012345678901234567855'),
  (4, '123456789012345678901234567890123.45', '123456.123456789012345678901234567850'), (5, '12345678901234567890123456789012.34', '-123456.123456789012345678901234567750'),
  (6, '99999999999999999999999999999999995.49', '999999.999999999999999999999999999949') AS v(id, e, c)
--- case divide ansi=true
SELECT a / z AS x FROM n WHERE id = 1
--- case divide_decimal ansi=true
SELECT d / z AS x FROM n WHERE id = 1
--- case divide_integral ansi=true
SELECT a div z AS x FROM n WHERE id = 1
--- case divide_integral_overflow ansi=true
SELECT l div (id - 4) AS x FROM big WHERE id = 3
--- case divide_integral_decimal ansi=true
SELECT d div z AS x FROM n WHERE id = 1
--- case remainder ansi=true
SELECT a % z AS x FROM n WHERE id = 1
--- case remainder_decimal ansi=true
SELECT d % CAST(z AS DECIMAL(4,1)) AS x FROM n WHERE id = 1
--- case remainder_function ansi=true
SELECT mod(f, z) AS x FROM n WHERE id = 1
--- case add_int ansi=true
SELECT a + id AS x FROM n WHERE id = 2
--- case subtract_int ansi=true
SELECT
   1 AS one, -- a comment
   a
     - z * -3
   AS x FROM n WHERE id = 3
--- case multiply_bigint ansi=true
SELECT l * 3 AS x FROM big WHERE id = 1
--- case add_byte ansi=true
SELECT t + t AS x FROM n WHERE id = 2
--- case multiply_short ansi=true spark.comet.scan.unsignedSmallIntSafetyCheck=false
SELECT s * s AS x FROM n WHERE id = 1
--- case negate_int ansi=true
SELECT -a AS x FROM n WHERE id = 3
--- case negate_byte ansi=true
SELECT -t AS x FROM n WHERE id = 3
--- case absolute_int ansi=true
SELECT abs(a) AS x FROM n WHERE id = 3
--- case absolute_bigint ansi=true
SELECT abs(l) AS x FROM big WHERE id = 3
--- case round_int ansi=true
SELECT round(a, -1) AS x FROM n WHERE id = 2
--- case multiply_decimal ansi=true
SELECT d * d AS x FROM n WHERE id = 1
--- case add_decimal ansi=true
SELECT e + e AS x FROM n WHERE id = 2
--- case decimal_to_smaller ansi=true
SELECT CAST(e AS DECIMAL(10,2)) AS x FROM n WHERE id = 2
--- case double_to_decimal ansi=true
SELECT CAST(f AS DECIMAL(10,2)) AS x FROM n WHERE id = 1
--- case int_to_decimal ansi=true
SELECT CAST(a AS DECIMAL(5,2)) AS x FROM n WHERE id = 2
--- case text_to_int ansi=true
SELECT CAST(g AS INT) AS x FROM n WHERE id = 1
--- case text_to_bigint ansi=true
SELECT CAST(g AS BIGINT) AS x FROM n WHERE id = 1
--- case text_to_double ansi=true
SELECT CAST(g AS DOUBLE) AS x FROM n WHERE id = 1
--- case text_to_decimal ansi=true
SELECT CAST(g AS DECIMAL(10,2)) AS x FROM n WHERE id = 1
--- case text_to_decimal_long ansi=true
SELECT CAST('9999999999999999999999999999999999999999' || g AS DECIMAL(10,2)) AS x FROM n WHERE id = 2
--- case text_to_boolean ansi=true
SELECT CAST(g AS BOOLEAN) AS x FROM n WHERE id = 1
--- case text_to_date ansi=true
SELECT CAST(g AS DATE) AS x FROM n WHERE id = 1
--- case text_to_timestamp ansi=true
SELECT CAST(concat('2020-13-', g) AS TIMESTAMP) AS x FROM n WHERE id = 2
--- case implicit_cast ansi=true
SELECT g + 1 AS x FROM n WHERE id = 1
--- case bigint_to_int ansi=true
SELECT CAST(l AS INT) AS x FROM big WHERE id = 1
--- case int_to_byte ansi=true
SELECT CAST(a AS TINYINT) AS x FROM n WHERE id = 2
--- case int_to_short ansi=true
SELECT CAST(a AS SMALLINT) AS x FROM n WHERE id = 2
--- case double_to_int ansi=true
SELECT CAST(f AS INT) AS x FROM n WHERE id = 1
--- case double_to_bigint ansi=true
SELECT CAST(f AS BIGINT) AS x FROM n WHERE id = 3
--- case decimal_to_int ansi=true
SELECT CAST(e AS INT) AS x FROM n WHERE id = 2
--- case in_filter ansi=true
SELECT id FROM n WHERE 10 / z > 3 AND id < 10
--- case in_aggregate ansi=true
SELECT sum(10 / z) AS x FROM n
--- case in_group ansi=true
SELECT a % z AS k, count(*) AS c FROM n GROUP BY a % z
--- case in_having ansi=true
SELECT id, sum(a) AS x FROM n GROUP BY id HAVING 1 / (sum(a) - 10) > 0
--- case in_order ansi=true
SELECT id FROM n ORDER BY 1 / z
--- case in_join_key ansi=true
SELECT n.id, m.id AS mid FROM n JOIN n m ON n.id = 10 div m.z
--- case in_join_condition ansi=true
SELECT n.id, m.id AS mid FROM n JOIN n m ON n.id = m.id AND 10 / (n.z + m.z) > 3
--- case in_case ansi=true
SELECT id, CASE WHEN id > 1 THEN 0 WHEN z = 0 THEN CAST(g AS INT) ELSE 5 END AS x FROM n
--- case in_subquery ansi=true
SELECT id, x FROM (SELECT id, a / z AS x FROM n) WHERE id < 3
--- case in_common_table ansi=true
WITH c AS (SELECT id, a div z AS x FROM n) SELECT count(x) AS c FROM c
--- case in_scalar_subquery ansi=true
SELECT id, (SELECT max(a / z) FROM n) AS x FROM n
--- case two_rows_of_a_scalar_subquery ansi=true
SELECT id FROM n WHERE id = (SELECT id FROM n)
--- case after_other_letters ansi=true
SELECT 'ä€𝄞' AS c, a / z AS x FROM n WHERE id = 1
--- case sum_bigint ansi=true
SELECT k, sum(l) AS x FROM big WHERE k = 1 GROUP BY k
--- case sum_bigint_ungrouped ansi=true
SELECT sum(l) AS x FROM big WHERE k = 2
--- case sum_decimal ansi=true
SELECT sum(e) AS x FROM (SELECT e FROM n WHERE id = 2 UNION ALL SELECT e FROM n WHERE id = 2)
--- case sum_decimal_grouped ansi=true
SELECT id, sum(e) AS x FROM (SELECT id, e FROM n WHERE id = 2 UNION ALL SELECT id, e FROM n WHERE id = 2) GROUP BY id
--- case sum_decimal_comes_back
SELECT id % 2 AS k, sum(v) AS x, count(*) AS c FROM (SELECT id, explode(v) AS v FROM wide) GROUP BY id % 2
--- case sum_decimal_comes_back_ungrouped
SELECT sum(v) AS x FROM (SELECT explode(v) AS v FROM wide WHERE id = 2)
--- case avg_decimal_comes_back
SELECT id % 2 AS k, avg(v) AS x FROM (SELECT id, explode(v) AS v FROM wide) WHERE id % 2 = 1 GROUP BY id % 2
--- case multiply_decimal_long
SELECT a.id, b.id AS o, a.c * b.c AS x, a.e * b.c AS y FROM wide a CROSS JOIN wide b WHERE a.id IN (1, 5) AND b.id > 2
--- case negate_decimal
SELECT id, -e AS a, -m AS b, abs(m) AS c, abs(-e) AS d, -c AS f, abs(c) AS g FROM wide WHERE id > 2
--- case negate_decimal_out_of_range
SELECT -e AS x FROM wide WHERE id = 2
--- case absolute_decimal_out_of_range
SELECT abs(m) AS x FROM wide WHERE id = 2
--- case sum_window ansi=true
SELECT id, sum(l) OVER (PARTITION BY k ORDER BY id) AS x FROM big WHERE k = 1
--- case sum_window_whole ansi=true
SELECT id, sum(l) OVER (PARTITION BY k) AS x FROM big WHERE k = 2
--- case argument_of_window ansi=true
SELECT id, sum(a / z) OVER (ORDER BY id) AS x FROM n
--- case above_window ansi=true
SELECT id, a / (rank() OVER (ORDER BY id) - 2) AS x FROM n
--- case like_escape_in_the_middle ansi=true
SELECT g LIKE 'a\\q' AS x FROM n
--- case like_escape_at_the_end ansi=true
SELECT g LIKE 'a\\' AS x FROM n
