-- Aggregates over several partitions, empty groups, NULL keys, NaN and zero keys, distinct.
--- table sales files=3
SELECT id, id % 4 AS k, CASE WHEN id % 5 = 0 THEN NULL ELSE id * 10 END AS v, CAST(id AS DECIMAL(12, 2)) / 4 AS d, CAST(id AS DOUBLE) / 8 AS f,
  CASE WHEN id % 3 = 0 THEN NULL ELSE concat('s', id % 2) END AS s FROM range(1, 60) t(id)
--- table no_rows
SELECT * FROM VALUES (1, 1, 'a') AS t(k, v, s) WHERE k > 5
--- table float_keys files=2
SELECT CAST(f AS DOUBLE) AS f, v FROM VALUES ('0.0', 1), ('-0.0', 2), ('NaN', 3), ('NaN', 4), (NULL, 5), (NULL, 6) AS t(f, v)
--- table big
SELECT CAST(v AS BIGINT) AS v, CAST(d AS DECIMAL(38, 0)) AS d FROM VALUES ('9223372036854775807', '99999999999999999999999999999999999999'), ('1', '1') AS t(v, d)
-- Which zero is the least and which check fails first depend on where the rows are, in Spark too.
--- table zeros files=2 fixed=yes
SELECT CAST(f AS DOUBLE) AS f FROM VALUES ('0.0'), ('-0.0'), ('NaN'), ('NaN'), (NULL), (NULL) AS t(f)
--- table together fixed=yes
SELECT CAST(d AS DECIMAL(38, 0)) AS d FROM VALUES ('99999999999999999999999999999999999999'), ('1') AS t(d)
--- case no_group
SELECT count(*) AS c, count(v) AS cv, sum(v) AS s, avg(v) AS a, min(v) AS mi, max(v) AS ma FROM sales
--- case by_key
SELECT k, count(*) AS c, count(v) AS cv, sum(v) AS s, avg(v) AS a, min(s) AS mi, max(s) AS ma FROM sales GROUP BY k
--- case by_null_key
SELECT s, count(*) AS c, sum(d) AS d, avg(d) AS a FROM sales GROUP BY s
--- case decimal
SELECT k, sum(d) AS s, avg(d) AS a, min(d) AS mi, max(d) AS ma FROM sales GROUP BY k
--- case double_exact
SELECT k, sum(f) AS s, avg(f) AS a, min(f) AS mi FROM sales GROUP BY k
--- case group_only
SELECT DISTINCT k, s FROM sales
--- case count_distinct
SELECT k, count(DISTINCT s) AS c FROM sales GROUP BY k
--- case mixed_distinct
SELECT k, count(DISTINCT s) AS c, sum(v) AS s, count(*) AS n FROM sales GROUP BY k
--- case two_distincts
SELECT count(DISTINCT s) AS a, count(DISTINCT k) AS b FROM sales
--- case having
SELECT k, sum(v) AS s FROM sales GROUP BY k HAVING sum(v) > 3000 ORDER BY s DESC
--- case empty_no_group
SELECT count(*) AS c, sum(v) AS s, avg(v) AS a, min(s) AS m FROM no_rows
--- case empty_by_key
SELECT k, count(*) AS c FROM no_rows GROUP BY k
--- case float_keys
SELECT f, sum(v) AS s FROM float_keys GROUP BY f
--- case min_max_nan
SELECT min(f) AS mi, max(f) AS ma FROM zeros
--- case sum_overflow
SELECT sum(v) AS s FROM big
--- case decimal_sum_overflow
SELECT sum(d) AS s FROM together
--- case avg_bigint
SELECT avg(v) AS a FROM big
--- case filter_clause
SELECT k, sum(v) FILTER (WHERE id > 20) AS s FROM sales GROUP BY k
--- case rollup
SELECT k, s, count(*) AS c FROM sales GROUP BY ROLLUP (k, s)
--- case expressions_over_aggregates
SELECT k, 100.00 * sum(CASE WHEN s = 's1' THEN d ELSE 0 END) / sum(d) AS share FROM sales GROUP BY k
