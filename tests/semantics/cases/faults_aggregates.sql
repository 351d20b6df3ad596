-- Faults that other native engines had with aggregates, windows and joins (the A and J rows of the list of faults).
--- table spread files=2
SELECT CAST(v AS DOUBLE) AS v, g FROM VALUES ('1e16', 1), ('10000000000000002', 1), ('3', 2) AS t(v, g)
--- table edge files=1
SELECT * FROM VALUES (1, CAST(NULL AS INT)), (2, 1), (3, CAST(NULL AS INT)) AS t(i, v)
--- table five
SELECT * FROM VALUES (1), (2), (3), (4), (5) AS t(i)
--- table ids
SELECT CAST(id AS BIGINT) AS id FROM VALUES ('-9223372036854775808'), ('-9223372036854775807'), ('-9223372036854775800'), ('5') AS t(id)
--- table thirty_eight files=1 fixed=yes
SELECT CAST(v AS DECIMAL(38, 38)) AS v, g, 'a' AS t FROM VALUES ('0.6', 1), ('0.6', 1), ('-0.6', 1) AS t(v, g)
--- table wide
SELECT i, CAST(v AS DECIMAL(38, 0)) AS v FROM VALUES (1, '99999999999999999999999999999999999999'), (2, '99999999999999999999999999999999999999') AS t(i, v)
--- table not_numbers files=2
SELECT CAST(x AS DOUBLE) AS x, CAST(x AS FLOAT) AS f, g FROM VALUES ('NaN', 1), ('NaN', 1), ('Infinity', 2), ('-Infinity', 2), ('1.5', 3) AS t(x, g)
--- table t1
SELECT * FROM VALUES (1), (2), (NULL) AS t(x)
--- table t2
SELECT CAST(y AS INT) AS y FROM VALUES (NULL), (2) AS t(y)
--- table t3
SELECT y FROM VALUES (2), (3) AS t(y)
--- table none
SELECT y FROM VALUES (2) AS t(y) WHERE y > 5
--- table six files=6
SELECT CAST(id AS INT) AS v FROM range(42) t(id)
--- table amounts files=3
SELECT CAST(id % 5 AS INT) AS k, CAST(id AS DECIMAL(10, 2)) AS d, CAST(id AS INT) AS i, concat('s', id % 3) AS s FROM range(100) t(id)
--- case a01_spread
SELECT var_pop(v) AS a, var_samp(v) AS b, stddev_pop(v) AS c, stddev_samp(v) AS d FROM spread WHERE g = 1
--- case a01_spread_by_group
SELECT g, var_pop(v) AS a, var_samp(v) AS b, stddev_pop(v) AS c, stddev_samp(v) AS d FROM spread GROUP BY g
--- case a03_percentile_approx refused=approx_percentile
SELECT percentile_approx(i, 0.5) AS p FROM amounts
--- case a04_first_without_nulls
SELECT first(v, true) AS f, last(v, true) AS l FROM edge
--- case a06_distinct_beside_others
SELECT k, count(DISTINCT s) AS a, sum(d) AS b, avg(d) AS c, stddev_pop(CAST(i AS DOUBLE)) AS e FROM amounts GROUP BY k
--- case a06_distinct_beside_others_of_all
SELECT count(DISTINCT s) AS a, sum(d) AS b, var_samp(CAST(i AS DOUBLE)) AS e FROM amounts
--- case a07_first_beside_distinct
SELECT first(v, true) AS a, count(DISTINCT i) AS b FROM edge
--- case a09_range_near_the_least refused=RANGE
SELECT first_value(id) OVER (ORDER BY id RANGE BETWEEN 4 PRECEDING AND CURRENT ROW) AS f FROM ids
--- case a09_range_by_count
SELECT id, count(*) OVER (ORDER BY id RANGE BETWEEN 4 PRECEDING AND CURRENT ROW) AS c FROM ids
--- case n01_sum_of_38_digits
SELECT sum(v) AS s FROM thirty_eight
--- case n01_sum_of_38_digits_by_group
SELECT g, sum(v) AS s FROM thirty_eight GROUP BY g
--- case n01_sum_of_38_digits_beside_texts refused=cannot match Spark's sort aggregation buffer
SELECT g, sum(v) AS s, max(t) AS m FROM thirty_eight GROUP BY g
--- case n01_sum_of_38_digits_beside_lists refused=cannot match Spark's unbounded object aggregation buffer
SELECT g, sum(v) AS s, size(collect_list(t)) AS m FROM thirty_eight GROUP BY g
--- case n01_sum_of_38_digits_beside_lists_of_all
SELECT sum(v) AS s, percentile(g, 0.5) AS m FROM thirty_eight
--- case n01_average_of_38_digits_by_group
SELECT g, avg(v) AS a FROM thirty_eight GROUP BY g
--- case n01_average_of_38_digits_beside_texts refused=cannot match Spark's sort aggregation buffer
SELECT g, avg(v) AS a, first(t) AS m FROM thirty_eight GROUP BY g
--- case n01_sum_of_38_digits_in_a_window
SELECT sum(v) OVER () AS s FROM thirty_eight
--- case n02_sliding_decimal_sum refused=SUM on DECIMAL
SELECT i, sum(v) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM wide
--- case n02_growing_decimal_sum
SELECT i, sum(v) OVER (ORDER BY i) AS s FROM wide
--- case z04_distinct_not_a_number
SELECT count(DISTINCT x) AS a, count(DISTINCT -x) AS b, count(DISTINCT f) AS c, count(DISTINCT CASE WHEN g = 2 THEN x - x ELSE x END) AS d FROM not_numbers
--- case z09_mode_of_zeros refused=mode
SELECT mode(x) AS m FROM not_numbers
--- case z10_spread_of_not_a_number
SELECT g, stddev_pop(x) AS a, var_pop(x) AS b, stddev_samp(x) AS c, var_samp(f) AS d, covar_pop(x, f) AS e, sum(x) AS h, avg(x) AS i, min(x) AS j, max(f) AS k FROM not_numbers GROUP BY g
--- case a10_buckets
SELECT i, ntile(3) OVER (ORDER BY i) AS n FROM five
--- case a12_default_of_a_column refused=lag
SELECT i, lag(i, 1, i) OVER (ORDER BY i) AS l FROM five
--- case j01_not_in_nulls spark.sql.autoBroadcastJoinThreshold=-1
SELECT x FROM t1 WHERE x NOT IN (SELECT y FROM t2)
--- case j03_not_in_nulls
SELECT x FROM t1 WHERE x NOT IN (SELECT y FROM t2)
--- case j03_not_in_nothing
SELECT x FROM t1 WHERE x NOT IN (SELECT y FROM none)
--- case j03_not_in_values
SELECT x FROM t1 WHERE x NOT IN (SELECT y FROM t3)
--- case j07_equal_but_for_results
SELECT a.c, b.c AS d FROM (SELECT k, sum(i) AS c FROM amounts GROUP BY k) a JOIN (SELECT k, sum(i) + 1 AS c FROM amounts GROUP BY k) b ON a.k = b.k
--- case j09_round_robin
SELECT /*+ REPARTITION(7) */ k, i FROM amounts
--- case j10_many_files
SELECT count(*) AS c, sum(v) AS s FROM six
--- case anti_of_nulls spark.sql.autoBroadcastJoinThreshold=-1
SELECT x FROM t1 LEFT ANTI JOIN t2 ON x = y
--- case exists_or_exists
SELECT x FROM t1 WHERE EXISTS (SELECT 1 FROM t2 WHERE y = x) OR EXISTS (SELECT 1 FROM t3 WHERE y = x) OR x = 1
