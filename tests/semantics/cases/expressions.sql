-- Expressions that have no file of their own.
--- table bits files=2
SELECT id, CAST(a AS INT) AS i, CAST(b AS BIGINT) AS l, n FROM VALUES
  (1, '0', '0', 0), (2, '-1', '-1', 31), (3, '127', '9223372036854775807', 32), (4, '-128', '-9223372036854775808', 63), (5, '85', '6148914691236517205', -1),
  (6, NULL, '7', 64), (7, '3', NULL, NULL) AS t(id, a, b, n)
--- table pairs
SELECT * FROM VALUES (1, 1), (1, 2), (NULL, 1), (1, NULL), (NULL, NULL) AS t(a, b)
--- table small_decimals files=3
SELECT id % 3 AS k, CAST(id * 1.25 AS DECIMAL(5, 2)) AS d FROM range(1, 60) t(id)
--- table placed files=3 fixed=yes
SELECT id FROM range(0, 9) t(id)
--- table shown
SELECT id, CAST(s AS STRING) AS s, CAST(id AS DECIMAL(10, 2)) / 4 AS d, id % 2 = 0 AS b, DATE'2020-02-28' + CAST(id AS INT) AS day
FROM VALUES (1, 'plain'), (2, NULL), (3, 'größer ✓') AS t(id, s)

--- case bitwise
SELECT id, CAST(i AS TINYINT) & CAST(n AS TINYINT) AS a, i & l AS b, CAST(i AS SMALLINT) | CAST(n AS SMALLINT) AS c, i | l AS d, i ^ n AS e, n ^ l AS f FROM bits
--- case shifts
SELECT id, shiftleft(i, n) AS a, shiftright(i, n) AS b, shiftleft(l, n) AS c, shiftright(l, n) AS d FROM bits
--- case null_safe
SELECT a, b, a <=> b AS e, NOT (a <=> b) AS n FROM pairs WHERE NOT (a <=> b) OR a = 1
--- case sum_of_small_decimals
SELECT k, sum(d) AS s, avg(d) AS a FROM small_decimals GROUP BY k
--- case partition_id spark.sql.files.openCostInBytes=134217728
SELECT spark_partition_id() AS p, count(*) AS c FROM placed GROUP BY 1
--- case pretty shown=yes
SELECT id, s, d, b, day FROM shown ORDER BY id
--- case numbers_of_a_range
SELECT id, id * 2 AS d FROM range(-3, 20, 4)
--- table lists
SELECT * FROM VALUES (1, array(1, 2)), (2, array()), (3, NULL) AS t(id, a)
--- case size_of_null spark.sql.legacy.sizeOfNull=false
SELECT id, size(a) AS n FROM lists
--- case size_of_null_legacy spark.sql.legacy.sizeOfNull=true
SELECT id, size(a) AS n FROM lists
--- case division_in_statistics spark.sql.legacy.statisticalAggregate=true
SELECT i, var_samp(l) AS v, stddev_samp(l) AS s FROM bits GROUP BY i
--- case unknown_legacy_setting spark.sql.legacy.truncateForEmptyRegexSplit=true refused=spark.sql.legacy.truncateForEmptyRegexSplit
SELECT id FROM lists
--- table padded char=c:5
SELECT * FROM VALUES (1, 'a'), (2, 'größe'), (3, ''), (4, NULL), (5, 'ab   ') AS t(id, c)
--- case read_side_padding
SELECT id, c, length(c) AS n, concat(c, '|') AS t FROM padded
--- case drop_rows_with_null dropna=yes
SELECT id, i, l, n FROM bits
--- table moments
SELECT id, CAST(s AS TIMESTAMP) AS t FROM VALUES (1, '2020-03-29 01:30:00'), (2, '2020-03-29 02:15:00'), (3, '1969-12-31 23:59:59.999999'), (4, NULL), (5, '2020-03-29 01:59:59') AS t(id, s)
--- case windows_of_time
SELECT id, w.start AS s, w.end AS e FROM (SELECT id, window(t, '1 hour') AS w FROM moments)
