-- Mathematical functions. Their last bits are compared by hashes of the results, which are computed exactly (functions_hash.sql).
--- table spread
SELECT CAST(id AS INT) AS id, x, reverse_sign, CAST(e AS INT) AS e FROM (SELECT id, id % 700 - 350 AS e, (1 + (id * 2654435761 % 4294967296) / 4294967296D) * CASE WHEN id % 3 = 0 THEN -1 ELSE 1 END * CAST(concat('1E', CAST(id % 40 - 20 AS STRING)) AS DOUBLE) AS x,
  (id * 40503 % 65536) / 65536D * 2 - 1 AS reverse_sign FROM range(0, 1500)) AS t
--- table special files=2
SELECT CAST(id AS INT) AS id, CAST(x AS DOUBLE) AS x, CAST(y AS DOUBLE) AS y, CAST(y AS FLOAT) AS f, CAST(i AS INT) AS i, CAST(i AS BIGINT) AS l, CAST(b AS TINYINT) AS b, CAST(b AS SMALLINT) AS s, CAST(y AS DECIMAL(10, 3)) AS c FROM VALUES
  (1, '0.0', '-0.0', '0', '0'), (2, '-0.0', '0.0', '1', '1'), (3, 'NaN', '1', '-1', '-1'), (4, 'Infinity', '2', '2147483647', '127'), (5, '-Infinity', 'NaN', '-2147483648', '-128'), (6, '1', 'Infinity', '20', '64'), (7, '-1', '-Infinity', '21', '33'),
  (8, '0.5', '0.5', '5', '5'), (9, '2.5', '-2.5', '-20', '3'), (10, '-3.5', '1E10', '31', '31'), (11, '1E308', '10', '32', '32'), (12, '4.9E-324', '-4.9E-324', '63', '63'), (13, NULL, '3', NULL, NULL), (14, '7', NULL, '64', '-33'), (15, '710', '710.5', '12', '12'),
  (16, '1.0000000000000002', '-1.0000000000000002', '13', '13'), (17, '100', '1000', '14', '14') AS t(id, x, y, i, b)
--- case last_bits
SELECT id, xxhash64(exp(x)) AS a, xxhash64(exp(e)) AS b, xxhash64(expm1(x)) AS c, xxhash64(ln(abs(x))) AS d, xxhash64(log10(abs(x))) AS e2, xxhash64(log2(abs(x))) AS f, xxhash64(pow(abs(x), reverse_sign)) AS g, xxhash64(pow(x, e)) AS h, xxhash64(cbrt(x)) AS i,
  xxhash64(sinh(x)) AS j, xxhash64(cosh(x)) AS k, xxhash64(tanh(x)) AS l, xxhash64(asin(reverse_sign)) AS m, xxhash64(acos(reverse_sign)) AS n, xxhash64(atan(x)) AS o, xxhash64(atan2(x, reverse_sign)) AS p, xxhash64(asinh(x)) AS q, xxhash64(acosh(abs(x))) AS r, xxhash64(atanh(reverse_sign)) AS s,
  xxhash64(sqrt(abs(x))) AS t, xxhash64(degrees(x)) AS u, xxhash64(radians(x)) AS v, xxhash64(rint(x)) AS w, xxhash64(log(3.7D, abs(x))) AS y FROM spread
--- case special_values
SELECT id, exp(x) AS a, expm1(x) AS b, ln(x) AS c, log10(x) AS d, log2(x) AS e, log(y, x) AS f, pow(x, y) AS g, pow(y, x) AS h, cbrt(x) AS i, sinh(x) AS j, cosh(x) AS k, tanh(x) AS l, asin(x) AS m, acos(x) AS n, atan(x) AS o, atan2(x, y) AS p, atan2(y, x) AS p2, asinh(x) AS q, acosh(x) AS r, atanh(x) AS s, sqrt(x) AS t, degrees(x) AS u,
  radians(x) AS v, rint(x) AS w FROM special
--- case signs_of_zeros
SELECT id, atan2(rint(x), CAST(-1 AS DOUBLE)) AS a, atan2(tanh(x), CAST(-1 AS DOUBLE)) AS b, atan2(cbrt(x), CAST(-1 AS DOUBLE)) AS c, atan2(sinh(x), CAST(-1 AS DOUBLE)) AS d, atan2(greatest(x, 0D), CAST(-1 AS DOUBLE)) AS e, atan2(least(0D, x), CAST(-1 AS DOUBLE)) AS f FROM special WHERE x = 0
--- case sine refused=function sin
SELECT id, sin(x) AS a FROM special
--- case cosine_and_tangent refused=function cos
SELECT id, cos(x) AS a, tan(x) AS b, cot(x) AS c, sec(x) AS d, csc(x) AS e FROM special
--- case largest_and_smallest
SELECT id, greatest(x, y) AS a, least(x, y) AS b, greatest(i, 5) AS c, least(l, 3L, NULL) AS d, greatest(c, 1.5) AS e, nullif(greatest(x, y), 0D) AS f, greatest(f, CAST(1 AS FLOAT)) AS g, least(x IS NULL, i > 3) AS h FROM special WHERE NOT (x = 0 AND y = 0)
--- case largest_text
SELECT id, greatest(s, t, 'm') AS a, least(s, t) AS b, greatest(d, DATE'2000-01-01') AS c FROM VALUES (1, 'a', 'ä', DATE'1999-12-31'), (2, NULL, '', NULL), (3, 'Z', 'a', DATE'2020-02-29'), (4, '𝄞', '\uffff', NULL) AS t(id, s, t, d)
--- case factorial
SELECT id, factorial(i) AS a, factorial(b) AS c FROM special
--- case bits spark.comet.scan.unsignedSmallIntSafetyCheck=false
SELECT id, bit_count(i) AS a, bit_count(l) AS c, bit_count(b) AS d, bit_count(s) AS e, bit_count(i > 3) AS f, ~i AS g, ~l AS h, ~b AS j, ~s AS k, shiftrightunsigned(i, b) AS m, shiftrightunsigned(l, i) AS n, shiftleft(i, b) AS o, shiftright(l, i) AS p FROM special
--- case rounding
SELECT id, ceil(c) AS a, floor(c) AS b, ceil(y) AS d, floor(x) AS e, ceil(l) AS f, round(c, 1) AS g, round(c, 0) AS h, round(i, -1) AS j, round(l, -2) AS k, isnan(x) AS m, signum(y) AS n FROM special WHERE i BETWEEN -2147483640 AND 2147483640 OR i IS NULL
--- case absolute ansi=false
SELECT id, abs(x) AS a, abs(i) AS c, abs(l) AS d, abs(b) AS e, abs(c) AS f, abs(f) AS g FROM special
--- case absolute_overflow
SELECT id, abs(i) AS a FROM special
--- case pmod_and_hypot refused=Pmod
SELECT id, pmod(i, 7) AS a, hypot(x, y) AS b FROM special
