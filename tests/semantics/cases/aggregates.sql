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
--- table sales_together fixed=yes
SELECT id, id % 4 AS k, CASE WHEN id % 5 = 0 THEN NULL ELSE id * 10 END AS v, CAST(id AS DECIMAL(12, 2)) / 4 AS d, CAST(id AS DOUBLE) / 8 AS f FROM range(1, 60) t(id)
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
--- case bits
SELECT k, bit_and(v) AS a, bit_or(v) AS o, bit_xor(v) AS x, bit_and(CAST(id AS TINYINT)) AS b, bit_xor(CAST(id AS SMALLINT)) AS s, bit_or(CAST(id AS INT)) AS i FROM sales GROUP BY k
--- case bits_of_nothing
SELECT bit_and(k) AS a, bit_or(v) AS o, bit_xor(k) AS x, collect_list(s) AS l, collect_set(k) AS t, max_by(k, v) AS m, percentile(k, 0.5) AS p, corr(k, v) AS c, covar_samp(k, v) AS cs,
  regr_slope(k, v) AS rs, listagg(s) AS la FROM no_rows
--- case collected
SELECT k, count(a) AS c, sum(a) AS s, min(a) AS m, max(n) AS n, max(f) AS f FROM (SELECT k, explode(l) AS a, n, f FROM
  (SELECT k, collect_list(v) AS l, size(collect_list(s)) AS n, size(collect_set(f)) AS f FROM sales GROUP BY k)) GROUP BY k
--- case collected_sets
SELECT k, e, n FROM (SELECT k, explode(collect_set(s)) AS e, size(array_agg(d)) AS n FROM sales GROUP BY k)
--- case collected_of_all
SELECT e, n, m FROM (SELECT explode(collect_set(k)) AS e, size(collect_list(id)) AS n, size(collect_list(id % 3) FILTER (WHERE k = 1)) AS m FROM sales)
--- case collected_in_order
SELECT k, sort_array(collect_list(v)) AS a, sort_array(collect_set(s)) AS b, sort_array(array_agg(d)) AS d FROM sales GROUP BY k
--- case collected_floats
SELECT size(collect_set(f)) AS n, size(collect_list(f)) AS m, size(collect_set(CAST(f AS FLOAT))) AS o FROM float_keys
--- case collected_beside_distinct
SELECT k, size(collect_list(v)) AS a, count(DISTINCT s) AS b, size(collect_set(id % 2)) AS c FROM sales GROUP BY k
--- case collected_distinct
SELECT k, a, b, e FROM (SELECT k, size(collect_list(DISTINCT s)) AS a, sum(DISTINCT id % 5) AS b, explode(collect_set(DISTINCT s)) AS e FROM sales GROUP BY k)
--- case by_extremum
SELECT k, max_by(id, f) AS a, min_by(d, id) AS b, max_by(v, id % 5) AS c FROM (SELECT * FROM sales_together WHERE id % 5 <> 0 OR k = 1) GROUP BY k
--- case by_extremum_of_all
SELECT max_by(id, d) AS a, min_by(f, id) AS b, min_by(id, CAST(NULL AS INT)) AS c, max_by(v, id) AS d, max_by(id, id) FILTER (WHERE id < 20) AS e FROM sales
--- case by_extremum_of_floats
SELECT max_by(v, f) IN (3, 4) AS a, min_by(v, f) IN (1, 2) AS b FROM float_keys
--- case by_extremum_of_text refused=Unsupported value data type: StringType
SELECT max_by(s, id) AS a FROM sales
--- case pairs
SELECT k, corr(v, f) AS a, covar_pop(v, f) AS b, covar_samp(v, f) AS c, corr(id, f) AS d FROM sales GROUP BY k
--- case pairs_of_all
SELECT corr(v, id * id) AS a, covar_pop(v, id * id) AS b, covar_samp(v, id % 7) AS c FROM sales
--- case pairs_of_one
SELECT id, corr(v, f) AS a, covar_samp(v, f) AS b, covar_pop(v, f) AS c FROM sales WHERE id < 6 GROUP BY id
--- case pairs_without_spread
SELECT corr(k, f) AS a FROM sales WHERE k = 1
--- case pairs_legacy spark.sql.legacy.statisticalAggregate=true
SELECT id, corr(v, f) AS a, covar_samp(v, f) AS b, stddev_samp(v) AS c, var_samp(f) AS d FROM sales WHERE id < 6 GROUP BY id
--- case regressions
SELECT k, regr_slope(v, f) AS a, regr_intercept(v, id % 7) AS b, regr_r2(v, id % 7) AS c, regr_sxx(v, f) AS d, regr_syy(v, id % 7) AS e, regr_sxy(v, id % 7) AS g, regr_count(v, f) AS h,
  regr_avgx(v, f) AS i, regr_avgy(v, f) AS j FROM sales GROUP BY k
--- case regressions_of_all
SELECT regr_slope(id % 11, v) AS a, regr_intercept(id % 11, v) AS b, regr_r2(id % 11, v) AS c, regr_sxx(id % 11, v) AS d, regr_syy(id % 11, v) AS e, regr_sxy(id % 11, v) AS g FROM sales
--- case regressions_without_spread
SELECT k, regr_slope(f, k) AS a, regr_intercept(f, k) AS b, regr_r2(f, k) AS c, regr_r2(k, f) AS d, regr_slope(k, f) AS e, regr_sxx(f, k) AS g FROM sales GROUP BY k
--- case percentiles
SELECT k, percentile(v, 0.5) AS a, percentile(f, 0.25) AS b, percentile(d, 0.9) AS c, median(id) AS m, percentile(CAST(f AS FLOAT), 0.33) AS e, percentile(CAST(id AS SMALLINT), 1) AS g,
  percentile(id, 0) AS h, percentile_cont(0.4) WITHIN GROUP (ORDER BY v) AS i FROM sales GROUP BY k
--- case percentiles_of_all
SELECT percentile(v, 0.123) AS a, median(f) AS b, percentile(v, 0.7) FILTER (WHERE id > 30) AS c, percentile(CAST(id AS DOUBLE), 0.77) AS d FROM sales
--- case percentile_of_floats
SELECT percentile(f, 0.5) AS a, percentile(f, 0.9) AS b, percentile(f, 0.6) AS c, percentile(f, 0) = 0 AS d FROM float_keys
--- case percentile_of_several refused=An array of percentages
SELECT percentile(v, array(0.2, 0.8)) AS a FROM sales
--- case percentile_of_frequencies refused=A frequency argument
SELECT percentile(v, 0.2, id) AS a FROM sales
--- case percentile_of_discrete refused=percentile
SELECT percentile_disc(0.4) WITHIN GROUP (ORDER BY v) AS a FROM sales
--- case list_of_texts
SELECT k, length(listagg(s, ', ')) AS a, length(string_agg(s)) AS b, listagg(CASE WHEN id = k + 4 THEN s END, '-') AS c FROM sales GROUP BY k
--- case list_of_one_text refused=Multi-column distinct aggregate
SELECT k, listagg(DISTINCT CASE WHEN k <> 3 THEN concat('k', k) END, ';') AS a FROM sales GROUP BY k
--- case list_in_order refused=WITHIN GROUP (ORDER BY ...)
SELECT listagg(s, ', ') WITHIN GROUP (ORDER BY id) AS a FROM sales
--- case truths
SELECT k, count_if(v > 200) AS a, bool_and(v > 10) AS b, bool_or(v > 500) AS c, every(v IS NULL) AS d, some(s = 's1') AS e, any_value(k) AS g FROM sales GROUP BY k
--- case tries
SELECT try_sum(v) AS a, try_avg(v) AS b, try_sum(d) AS c FROM big
--- case average_of_38_digits refused=Ungrouped decimal AVG
SELECT avg(d) AS a FROM big
--- case average_of_38_digits_by_key
SELECT v > 5 AS g, avg(d) AS a, avg(d - 7) AS b FROM big GROUP BY v > 5
--- case tries_by_key
SELECT k, try_sum(v) AS a, try_avg(v) AS b, try_sum(d) AS c, try_avg(d) AS e, try_sum(f) AS g FROM sales GROUP BY k
--- case filters
SELECT k, count(*) FILTER (WHERE v > 100) AS a, avg(f) FILTER (WHERE id > 20) AS b, min(s) FILTER (WHERE s = 's1') AS c, stddev(v) FILTER (WHERE v > 50) AS d, sum(d) FILTER (WHERE false) AS e,
  first(k) FILTER (WHERE id > 3) AS g, count(DISTINCT s) FILTER (WHERE id > 10) AS h, sum(DISTINCT id % 7) FILTER (WHERE v IS NOT NULL) AS i FROM sales GROUP BY k
--- case distinct_of_each_kind
SELECT count(DISTINCT s, k) AS a, sum(DISTINCT v % 70) AS b, avg(DISTINCT id % 9) AS c, max(DISTINCT d) AS d, corr(v, f) AS e, bit_xor(id) AS g, count(v) AS h FROM sales
--- case distinct_by_key
SELECT k, count(DISTINCT s) AS a, bit_or(id) AS b, corr(v, f) AS c, max_by(id, f) AS d, percentile(v, 0.5) AS e, regr_slope(v, f) AS g, first(k) AS h, avg(v) AS i, var_pop(f) AS j FROM sales GROUP BY k
--- case extremes_of_types
SELECT min(s) AS a, min(CAST('2020-01-05' AS DATE)) AS b, min(DATE'2020-01-01' + CAST(id AS INT)) AS c, max(CAST(date_add(DATE'2020-01-01', CAST(id AS INT)) AS TIMESTAMP)) AS d, max(id > 3) AS e, min(CAST(f AS FLOAT)) AS g FROM sales
--- case averages
SELECT k, avg(CAST(id AS TINYINT)) AS a, avg(CAST(f AS FLOAT)) AS b, avg(CAST(d AS DECIMAL(30, 5))) AS c, avg(CAST(d AS DECIMAL(5, 1))) AS e, mean(v) AS g FROM sales GROUP BY k
--- case grouping_sets
SELECT k, s, grouping(k) AS g, grouping_id(k, s) AS i, count(*) AS c, sum(v) AS t FROM sales GROUP BY GROUPING SETS ((k, s), (k), ())
--- case cube
SELECT k, s, count(DISTINCT id % 7) AS c, sum(d) AS t FROM sales GROUP BY CUBE (k, s)
--- case pivoted
SELECT * FROM (SELECT id % 5 AS g, k, v FROM sales) PIVOT (sum(v) FOR k IN (0, 1, 2, 3))
--- case pivoted_twice
SELECT * FROM (SELECT id % 5 AS g, s, v, f FROM sales) PIVOT (sum(v) AS a, max(f) AS b FOR s IN ('s0', 's1'))
--- case kurtosis refused=kurtosis
SELECT kurtosis(v) AS a FROM sales
--- case skewness refused=skewness
SELECT skewness(v) AS a FROM sales
--- case most_frequent refused=mode
SELECT mode(k) AS a FROM sales
--- case distinct_approximately refused=approx_count_distinct
SELECT approx_count_distinct(k) AS a FROM sales
--- case edges_of_lists
SELECT k, size(first(a)) AS f, size(last(a)) AS l, e FROM (SELECT k, a, explode(a) AS e FROM (SELECT id % 2 AS k, collect_list(s) AS a FROM sales GROUP BY id % 2)) GROUP BY k, e
