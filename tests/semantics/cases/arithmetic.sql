-- Overflow, division by zero, remainder, decimals with precision loss.
--- table n
SELECT id, CAST(a AS INT) AS a, CAST(b AS INT) AS b, CAST(a AS BIGINT) AS la, CAST(b AS BIGINT) AS lb FROM VALUES
  (1, 7, 2), (2, -7, 2), (3, 7, -2), (4, NULL, 1), (5, 0, 5), (6, 1000000, 3) AS t(id, a, b)
--- table edge
SELECT id, CAST(a AS INT) AS a, CAST(b AS INT) AS b FROM VALUES (1, 2147483647, 1), (2, -2147483648, -1), (3, 5, 0) AS t(id, a, b)
--- table dec
SELECT id, CAST(a AS DECIMAL(12, 2)) AS a, CAST(b AS DECIMAL(12, 2)) AS b, CAST(w AS DECIMAL(38, 10)) AS w FROM VALUES
  (1, '10.00', '3.00', '1234567890123456789012345678.0123456789'), (2, '-10.00', '3.00', '0.0000000001'),
  (3, '0.01', '9999999999.99', '-99999999999999999999.5'), (4, NULL, '1.00', NULL), (5, '2.50', '-0.25', '3') AS t(id, a, b, w)
--- table dec_zero
SELECT id, CAST(a AS DECIMAL(12, 2)) AS a, CAST(b AS DECIMAL(12, 2)) AS b FROM VALUES (1, '1.00', '0.00') AS t(id, a, b)
--- table f
SELECT id, CAST(a AS DOUBLE) AS a, CAST(b AS DOUBLE) AS b FROM VALUES (1, '1.5', '0.5'), (2, 'NaN', '1'), (3, '-0.0', '0.0'), (4, 'Infinity', '2') AS t(id, a, b)
--- case plain
SELECT id, a + b AS x, a - b AS y, a * b AS z, a % b AS r, -a AS m FROM n
--- case bigint
SELECT id, la + lb AS x, la * lb AS z, la % lb AS r FROM n
--- case int_division
SELECT id, a / b AS x, a DIV b AS y FROM n
--- case add_overflow
SELECT id, a + 1 AS x FROM edge
--- case subtract_overflow
SELECT id, a - b AS x FROM edge WHERE id <> 3
--- case multiply_overflow
SELECT id, a * -1 AS x FROM edge
--- case negate_overflow
SELECT id, -a AS x FROM edge
--- case remainder_min_by_minus_one
SELECT id, a % b AS r FROM edge WHERE id = 2
--- case divide_by_zero
SELECT id, a / b AS x FROM edge
--- case remainder_by_zero
SELECT id, a % b AS x FROM edge WHERE id = 3
--- case decimal_plain
SELECT id, a + b AS x, a - b AS y, a * b AS z, a / b AS q, a % b AS r FROM dec
--- case decimal_wide_multiply
SELECT id, w * a AS x FROM dec WHERE id <> 1
--- case decimal_wide_overflow
SELECT id, w * w AS x FROM dec
--- case decimal_wide_add
SELECT id, w + a AS x, w - a AS y FROM dec
--- case decimal_divide_by_zero
SELECT id, a / b AS x FROM dec_zero
--- case double_arithmetic
SELECT id, a + b AS x, a - b AS y, a * b AS z FROM f
--- case double_compare
SELECT id, a = b AS e, a < b AS l, a > b AS g, a <=> b AS n, a IN (0.0D, 1.5D) AS i FROM f
--- case short_circuit_and
SELECT id FROM edge WHERE b <> 0 AND a / b > 1
--- case short_circuit_or
SELECT id FROM edge WHERE b = 0 OR a / b > 1
--- case short_circuit_case
SELECT id, CASE WHEN b = 0 THEN -1 ELSE a / b END AS x FROM edge WHERE id <> 2
--- case short_circuit_coalesce
SELECT id, coalesce(b, a DIV 0) AS x FROM edge
--- table wide_quotients
SELECT CAST(a AS DECIMAL(38, 0)) AS a, CAST(b AS DECIMAL(38, 18)) AS b, CAST(c AS DECIMAL(38, 30)) AS c FROM VALUES
  ('99999999999999999999999999999999999999', '0.000000000000000001', '0.000000000000000000000000000001'),
  ('12345678901234567890123456789012345678', '3', '7'), ('-99999999999999999999999999999999999999', '77777777777777777777', '-0.3'), ('1', '-0.7', '0.9') AS t(a, b, c)
--- case wide_quotients ansi=false
SELECT a / b AS x, a / c AS y, b / a AS z, c / b AS u, c / c AS v FROM wide_quotients
--- case wide_quotient_overflows ansi=true
SELECT a / c AS y FROM wide_quotients WHERE a > 99999999999999999999999999999999999998
