-- What Comet leaves to Spark and the driver finishes: existence joins of every algorithm, cross joins, Cartesian products.
--- table l files=3
SELECT * FROM VALUES (1, 'a', 10, 1.5), (1, 'b', 20, 2.5), (2, 'c', 30, NULL), (NULL, 'd', 40, 4.5), (4, 'e', 50, 5.5), (5, NULL, NULL, 6.5), (4, 'e', 50, 5.5)
  AS t(k, s, v, d)
--- table r files=2
SELECT * FROM VALUES (1, 'x', 15, 1.5), (1, 'y', 5, 2.5), (2, NULL, 30, NULL), (NULL, 'z', 1, 4.5), (6, 'w', 99, 9.5), (4, 'u', NULL, 5.5), (1, 'x', 15, 1.5)
  AS t(k, s, v, d)
--- table none
SELECT * FROM VALUES (1, 'x', 15, 1.5) AS t(k, s, v, d) WHERE k > 1
--- table many files=4
SELECT CAST(id % 50 AS INT) AS k, id AS v, concat('s', id % 7) AS s FROM range(3000)
--- case existence_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.*, EXISTS (SELECT 1 FROM r WHERE r.k = l.k) AS a, l.v IN (SELECT v FROM r WHERE r.k = l.k) AS b FROM l
--- case existence_merge_plain spark.sql.autoBroadcastJoinThreshold=-1 spark.sql.adaptive.enabled=false
SELECT l.*, EXISTS (SELECT 1 FROM r WHERE r.k = l.k) AS a, NOT EXISTS (SELECT 1 FROM none r WHERE r.k = l.k) AS b FROM l
--- case existence_merge_conditions spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.*, EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v < l.v) AS a, EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND (r.v > l.v OR r.s = 'u')) AS b,
  EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.d = l.d AND r.v + l.v > 20) AS c FROM l
--- case existence_merge_filter spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.s, count(*) AS c, sum(l.v) AS v FROM l
WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k) OR EXISTS (SELECT 1 FROM r WHERE r.v = l.v AND r.k > 1) OR l.v > 45 GROUP BY l.s ORDER BY l.s
--- case existence_merge_filter_plain spark.sql.autoBroadcastJoinThreshold=-1 spark.sql.adaptive.enabled=false
SELECT l.s, count(*) AS c, sum(l.v) AS v FROM l
WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k) OR EXISTS (SELECT 1 FROM r WHERE r.v = l.v AND r.k > 1) OR l.v > 45 GROUP BY l.s ORDER BY l.s
--- case existence_merge_computed_keys spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.*, EXISTS (SELECT 1 FROM r WHERE r.k + 1 = l.k * 2 AND substring(r.s, 1, 1) <> l.s) AS a FROM l
--- case existence_merge_many spark.sql.autoBroadcastJoinThreshold=-1
SELECT k, count(*) AS c, sum(CAST(a AS INT)) AS n FROM (SELECT m.k, EXISTS (SELECT 1 FROM l WHERE l.k = m.k AND l.v > m.v) AS a FROM many m) GROUP BY k
--- case existence_merge_below_joins spark.sql.autoBroadcastJoinThreshold=-1
SELECT x.s, x.k, r.s AS rs, x.a FROM (SELECT l.*, EXISTS (SELECT 1 FROM many WHERE many.k = l.k AND many.v > l.v) AS a FROM l) x JOIN r ON x.k = r.k AND x.a
UNION ALL SELECT x.s, x.k, NULL, x.a FROM (SELECT l.*, EXISTS (SELECT 1 FROM r WHERE r.k = l.k) AS a FROM l) x
--- case existence_merge_window spark.sql.autoBroadcastJoinThreshold=-1
SELECT s, k, v, rank() OVER (PARTITION BY a ORDER BY v, s) AS n, a FROM (SELECT l.*, EXISTS (SELECT 1 FROM r WHERE r.k = l.k) AS a FROM l)
--- case existence_merge_top spark.sql.autoBroadcastJoinThreshold=-1
SELECT s, v FROM l WHERE v > 45 OR EXISTS (SELECT 1 FROM (SELECT k FROM r ORDER BY k DESC LIMIT 3) t WHERE t.k = l.k) ORDER BY v, s LIMIT 4
--- case existence_shuffled_hash spark.sql.autoBroadcastJoinThreshold=-1 spark.sql.join.preferSortMergeJoin=false
SELECT l.*, EXISTS (SELECT /*+ SHUFFLE_HASH(r) */ 1 FROM r WHERE r.k = l.k AND r.v < l.v) AS a FROM l
--- case existence_broadcast
SELECT l.*, EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v < l.v) AS a, EXISTS (SELECT 1 FROM r WHERE r.k + 1 = l.k * 2) AS b FROM l
--- case existence_broadcast_plain spark.sql.adaptive.enabled=false
SELECT l.*, EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v < l.v) AS a, EXISTS (SELECT 1 FROM r WHERE r.k + 1 = l.k * 2) AS b FROM l
--- case existence_loop
SELECT l.*, EXISTS (SELECT 1 FROM r WHERE r.v < l.v AND r.k <> l.k) AS a, EXISTS (SELECT 1 FROM none r WHERE r.v < l.v) AS b FROM l
--- case cross_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.s, r.s AS rs FROM l CROSS JOIN r WHERE l.k = r.k
--- case cross_hash
SELECT l.s, r.s AS rs FROM l CROSS JOIN r WHERE l.k = r.k AND l.v > r.v
--- case cross_loop
SELECT l.s, l.k, r.s AS rs FROM l CROSS JOIN r
--- case product spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.s, l.k, r.s AS rs FROM l CROSS JOIN r
--- case product_plain spark.sql.autoBroadcastJoinThreshold=-1 spark.sql.adaptive.enabled=false
SELECT l.s, l.k, r.s AS rs FROM l, r
--- case product_condition spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.s, r.s AS rs, l.v - r.v AS d FROM l JOIN r ON l.v > r.v AND (l.k < r.k OR r.k IS NULL)
--- case product_empty_sides spark.sql.autoBroadcastJoinThreshold=-1
SELECT 1 AS n, l.s, none.s AS o FROM l CROSS JOIN none UNION ALL SELECT 2, none.s, l.s FROM none CROSS JOIN l UNION ALL SELECT 3, a.s, b.s FROM none a CROSS JOIN none b
--- case product_sizes spark.sql.autoBroadcastJoinThreshold=-1
SELECT count(*) AS c, sum(many.v * l.v) AS s FROM many CROSS JOIN l UNION ALL SELECT count(*), sum(many.v * l.v) FROM l CROSS JOIN many WHERE l.v < many.v
--- case product_aggregates spark.sql.autoBroadcastJoinThreshold=-1
SELECT * FROM (SELECT count(*) AS a, avg(v) AS b FROM l WHERE k < 3) x, (SELECT count(DISTINCT k) AS c FROM r) y, (SELECT max(v) AS d FROM none) z
--- case product_aggregates_plain spark.sql.autoBroadcastJoinThreshold=-1 spark.sql.adaptive.enabled=false
SELECT * FROM (SELECT count(*) AS a, avg(v) AS b FROM l WHERE k < 3) x, (SELECT count(DISTINCT k) AS c FROM r) y, (SELECT max(v) AS d FROM none) z
--- case product_of_inputs spark.sql.autoBroadcastJoinThreshold=-1
SELECT * FROM (SELECT s FROM l ORDER BY s, v LIMIT 3) a, (SELECT s AS rs FROM r UNION ALL SELECT s FROM l WHERE k = 1) b
--- case product_of_inputs_plain spark.sql.autoBroadcastJoinThreshold=-1 spark.sql.adaptive.enabled=false
SELECT * FROM (SELECT s FROM l ORDER BY s, v LIMIT 3) a, (SELECT s AS rs FROM r UNION ALL SELECT s FROM l WHERE k = 1) b
--- case product_and_existence spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.s, r.s AS rs FROM l, r WHERE l.v > r.v AND (EXISTS (SELECT 1 FROM many WHERE many.k = l.k AND many.v > 2900) OR r.k = 1)
