-- Window functions: ranks, neighbours, aggregates over frames of rows and of peers, limits by rank.
--- table sales files=3
SELECT id, id % 3 AS k, id % 7 AS o, CASE WHEN id % 5 = 0 THEN NULL ELSE id * 10 END AS v, CAST(id AS DECIMAL(12, 2)) / 4 AS d, CAST(id AS DOUBLE) / 8 AS f,
  CASE WHEN id % 4 = 0 THEN NULL ELSE concat('s', id % 6) END AS s, CAST(id AS INT) AS i FROM range(1, 50) t(id)
--- table no_rows
SELECT * FROM VALUES (1, 1, 'a') AS t(k, v, s) WHERE k > 5
--- table float_keys files=2
SELECT CAST(f AS DOUBLE) AS f, v FROM VALUES ('0.0', 1), ('-0.0', 2), ('NaN', 3), ('NaN', 4), (NULL, 5), (NULL, 6), ('-Infinity', 7) AS t(f, v)
--- table big
SELECT CAST(i AS INT) AS i, CAST(v AS BIGINT) AS v, CAST(d AS DECIMAL(38, 0)) AS d FROM VALUES (1, '9223372036854775807', '99999999999999999999999999999999999999'),
  (2, '1', '99999999999999999999999999999999999999'), (3, '-5', '-3') AS t(i, v, d)
--- table two
SELECT * FROM VALUES (1, CAST(NULL AS INT)), (2, 1), (3, CAST(NULL AS INT)), (4, 4) AS t(i, v)
--- case ranks
SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS n, rank() OVER (PARTITION BY k ORDER BY o) AS r,
  dense_rank() OVER (PARTITION BY k ORDER BY o) AS dr FROM sales
--- case fractions
SELECT id, percent_rank() OVER (PARTITION BY k ORDER BY o) AS p, cume_dist() OVER (PARTITION BY k ORDER BY o DESC) AS c FROM sales
--- case one_group
SELECT id, rank() OVER (ORDER BY o DESC, id) AS r, count(*) OVER () AS c FROM sales
--- case descending_nulls
SELECT id, rank() OVER (PARTITION BY k ORDER BY v DESC NULLS FIRST) AS r, rank() OVER (PARTITION BY k ORDER BY s ASC NULLS LAST) AS t FROM sales
--- case neighbours
SELECT id, lag(v) OVER (PARTITION BY k ORDER BY id) AS a, lead(v, 2) OVER (PARTITION BY k ORDER BY id) AS b,
  lag(v, 1, -1L) OVER (PARTITION BY k ORDER BY id) AS c, lag(s, 3) OVER (ORDER BY id) AS d, lead(v, -1) OVER (ORDER BY id) AS e FROM sales
--- case neighbours_ignore_nulls
SELECT i, lag(v) IGNORE NULLS OVER (ORDER BY i) AS a, lead(v) IGNORE NULLS OVER (ORDER BY i) AS b, lag(v, 2) IGNORE NULLS OVER (ORDER BY i) AS c FROM two
--- case nth
SELECT id, nth_value(v, 2) OVER (PARTITION BY k ORDER BY id) AS a,
  nth_value(v, 3) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS b FROM sales
--- case edges
SELECT id, first_value(v) OVER (PARTITION BY k ORDER BY id) AS a, last_value(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b,
  first_value(v, true) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS c FROM sales
--- case running
SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id) AS s, count(v) OVER (PARTITION BY k ORDER BY id) AS c, min(d) OVER (PARTITION BY k ORDER BY id) AS m,
  max(v) OVER (PARTITION BY k ORDER BY id DESC) AS x FROM sales
--- case running_text refused=StringType
SELECT id, min(s) OVER (PARTITION BY k ORDER BY id) AS m FROM sales
--- case running_with_peers
SELECT id, sum(v) OVER (PARTITION BY k ORDER BY o) AS s, count(*) OVER (PARTITION BY k ORDER BY o RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS c,
  max(f) OVER (ORDER BY o RANGE BETWEEN CURRENT ROW AND CURRENT ROW) AS m FROM sales
--- case whole_group
SELECT id, sum(v) OVER (PARTITION BY k) AS s, max(f) OVER (PARTITION BY k) AS m, min(d) OVER (PARTITION BY s) AS d, count(s) OVER (PARTITION BY k) AS c FROM sales
--- case sliding
SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS a, sum(f) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS b,
  max(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING) AS c,
  min(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) AS d, avg(f) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS e FROM sales
--- case decimals
SELECT id, sum(d) OVER (PARTITION BY k) AS s, avg(d) OVER (PARTITION BY k ORDER BY id) AS a, sum(d) OVER (PARTITION BY k ORDER BY id) AS r FROM sales
--- case over_aggregates
SELECT k, o, sum(v) AS s, rank() OVER (PARTITION BY k ORDER BY sum(v) DESC) AS r, sum(sum(v)) OVER (PARTITION BY k) AS t FROM sales GROUP BY k, o
--- case limit_by_row_number
SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS n FROM sales) WHERE n <= 3
--- case limit_by_rank
SELECT * FROM (SELECT id, k, rank() OVER (PARTITION BY k ORDER BY o) AS n FROM sales) WHERE n <= 3
--- case limit_by_dense_rank
SELECT * FROM (SELECT id, dense_rank() OVER (ORDER BY o DESC) AS n FROM sales) WHERE n < 3
--- case float_keys
SELECT v, rank() OVER (ORDER BY f) AS r, count(*) OVER (PARTITION BY f) AS c FROM float_keys
--- case long_overflow
SELECT i, sum(v) OVER (ORDER BY i) AS s FROM big
--- case decimal_overflow
SELECT i, sum(d) OVER (ORDER BY i) AS s FROM big
--- case empty
SELECT k, rank() OVER (PARTITION BY s ORDER BY v) AS r, sum(v) OVER (PARTITION BY s) AS t FROM no_rows
--- case default_of_a_column refused=lag
SELECT id, lag(v, 1, id) OVER (ORDER BY id) AS a FROM sales
--- case buckets
SELECT id, ntile(4) OVER (PARTITION BY k ORDER BY id) AS n FROM sales
--- case range_with_offset refused=RANGE
SELECT id, sum(v) OVER (ORDER BY i RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s FROM sales
