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
--- table extremes files=2
SELECT CAST(id AS BIGINT) AS id, n, CAST(b AS TINYINT) AS b FROM VALUES ('-9223372036854775808', 1, -128), ('-9223372036854775806', 2, -100), ('-9223372036854775800', 3, 0), ('-5', 4, 27), ('7', 5, 28),
  ('9223372036854775800', 6, 100), ('9223372036854775805', 7, 120), ('9223372036854775807', 8, 127), (NULL, 9, NULL) AS t(id, n, b)
--- table halves
SELECT id AS i, CAST(CASE WHEN id % 22 = 0 THEN 99999999999 ELSE 99999999998 END AS DECIMAL(11, 0)) AS d FROM range(1, 400) t(id)
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
--- case range_with_offset
SELECT id, sum(v) OVER (ORDER BY i RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s, count(v) OVER (PARTITION BY k ORDER BY i RANGE BETWEEN 4 PRECEDING AND CURRENT ROW) AS c,
  min(v) OVER (PARTITION BY k ORDER BY i DESC RANGE BETWEEN 3 PRECEDING AND 3 FOLLOWING) AS m, max(f) OVER (ORDER BY o RANGE BETWEEN CURRENT ROW AND 1 FOLLOWING) AS x,
  avg(f) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND 5 FOLLOWING) AS a, sum(id) OVER (ORDER BY id RANGE BETWEEN 5 PRECEDING AND UNBOUNDED FOLLOWING) AS u FROM sales
--- case range_of_nulls
SELECT id, v, count(*) OVER (ORDER BY v RANGE BETWEEN 20 PRECEDING AND 20 FOLLOWING) AS c, sum(id) OVER (ORDER BY v DESC NULLS FIRST RANGE BETWEEN 30 PRECEDING AND CURRENT ROW) AS s,
  sum(id) OVER (ORDER BY v NULLS LAST RANGE BETWEEN 30 PRECEDING AND UNBOUNDED FOLLOWING) AS t FROM sales
--- case range_of_small_types
SELECT i, count(*) OVER (ORDER BY CAST(i AS TINYINT) RANGE BETWEEN 3Y PRECEDING AND 1Y FOLLOWING) AS b, count(*) OVER (ORDER BY CAST(i AS SMALLINT) RANGE BETWEEN 3S PRECEDING AND 1S FOLLOWING) AS s,
  count(*) OVER (ORDER BY CAST(f AS FLOAT) RANGE BETWEEN 0.5F PRECEDING AND 0.25F FOLLOWING) AS f, sum(i) OVER (ORDER BY f RANGE BETWEEN 0.5D PRECEDING AND 0.25D FOLLOWING) AS d FROM sales
--- case range_of_dates
SELECT i, count(*) OVER (ORDER BY d RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING) AS c, sum(i) OVER (PARTITION BY k ORDER BY d DESC RANGE BETWEEN 10 PRECEDING AND CURRENT ROW) AS s
  FROM (SELECT i, k, date_add(DATE'2024-02-25', i) AS d FROM sales)
--- case range_of_floats
SELECT v, count(*) OVER (ORDER BY f RANGE BETWEEN 1D PRECEDING AND 1D FOLLOWING) AS c, sum(v) OVER (ORDER BY f DESC RANGE BETWEEN 1D PRECEDING AND CURRENT ROW) AS s FROM float_keys
--- case range_overflows
SELECT id, count(*) OVER (ORDER BY id RANGE BETWEEN 4 PRECEDING AND CURRENT ROW) AS a, sum(n) OVER (ORDER BY id RANGE BETWEEN 4 PRECEDING AND 10 FOLLOWING) AS b FROM extremes
--- case range_overflows_above
SELECT id, count(*) OVER (ORDER BY id RANGE BETWEEN CURRENT ROW AND 4 FOLLOWING) AS a, max(n) OVER (ORDER BY id DESC RANGE BETWEEN 4 PRECEDING AND 1 FOLLOWING) AS b FROM extremes
--- case range_overflows_unseen
SELECT id, count(*) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND 4 FOLLOWING) AS a FROM extremes WHERE id > -100
--- case range_of_bytes_overflows
SELECT b, count(*) OVER (ORDER BY b RANGE BETWEEN 100Y PRECEDING AND 100Y FOLLOWING) AS c FROM extremes
--- case range_nth
SELECT id, nth_value(v, 2) OVER (ORDER BY i RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS a FROM sales
--- case range_edges refused=with RANGE frame and literal offset
SELECT id, last_value(v) OVER (ORDER BY i RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS a FROM sales
--- case range_of_decimals refused=RANGE frame with explicit offset on DECIMAL
SELECT id, sum(v) OVER (ORDER BY d RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS a FROM sales
--- case range_of_intervals refused=RANGE
SELECT id, sum(v) OVER (ORDER BY CAST(DATE_ADD(DATE'2024-01-01', i) AS TIMESTAMP) RANGE BETWEEN INTERVAL 2 DAYS PRECEDING AND CURRENT ROW) AS a FROM sales
--- case sliding_edges
SELECT i, first_value(v, true) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS a, last_value(v, true) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS b,
  last_value(v) OVER (ORDER BY i ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS c, nth_value(v, 2) IGNORE NULLS OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS d,
  nth_value(v, 2) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS e, any_value(v) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS f FROM two
--- case sliding_overflow
SELECT i, sum(v) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM big
--- case sliding_overflow_unseen
SELECT i, sum(v) OVER (ORDER BY i DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM big WHERE i <> 2
--- case decimal_averages
SELECT id, avg(d) OVER (PARTITION BY k ORDER BY id) AS a, avg(CAST(d AS DECIMAL(9, 4))) OVER (PARTITION BY k) AS b, avg(CAST(99999999999 - i AS DECIMAL(11, 0))) OVER (ORDER BY id) AS c,
  avg(CAST(d AS DECIMAL(20, 2))) OVER (ORDER BY id) AS w, sum(CAST(d AS DECIMAL(8, 2))) OVER (ORDER BY id) AS s FROM sales
--- case decimal_average_near_a_half
SELECT i, avg(d) OVER (ORDER BY i) AS a, avg(d) OVER () AS b FROM halves
--- case aggregates_of_all_types
SELECT id, min(CAST(i AS TINYINT)) OVER (ORDER BY id) AS a, max(DATE'2020-01-01' + i) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS b, avg(i) OVER (PARTITION BY k) AS c,
  count(s, v) OVER (PARTITION BY k ORDER BY id) AS d, sum(CAST(f AS FLOAT)) OVER (PARTITION BY k ORDER BY id) AS e, max(f > 2) OVER (PARTITION BY k) AS g FROM sales
--- case filter_clause folded=yes
SELECT id, sum(v) FILTER (WHERE o > 2) OVER (PARTITION BY k) AS s FROM sales
--- case lead_default_of_a_type folding=yes
SELECT id, lead(d, 1, 0) OVER (ORDER BY id) AS a, lag(s, 1, 'none') OVER (ORDER BY id) AS b, lag(f, 60) OVER (ORDER BY id) AS c FROM sales
--- case other_aggregates refused=not supported
SELECT id, stddev(v) OVER (PARTITION BY k) AS s FROM sales
