-- Every join type with NULL keys, duplicates and conditions.
--- table l files=2
SELECT * FROM VALUES (1, 'a', 10), (1, 'b', 20), (2, 'c', 30), (NULL, 'd', 40), (4, 'e', 50), (5, NULL, 60) AS t(k, s, v)
--- table r files=3
SELECT * FROM VALUES (1, 'x', 15), (1, 'y', 5), (2, NULL, 30), (NULL, 'z', 1), (6, 'w', 99) AS t(k, s, v)
--- table fl
SELECT CAST(f AS DOUBLE) AS f, v FROM VALUES ('NaN', 1), ('0.0', 2), ('-0.0', 3), (NULL, 4) AS t(f, v)
--- table fr
SELECT CAST(f AS DOUBLE) AS f, v FROM VALUES ('NaN', 10), ('-0.0', 20), (NULL, 40) AS t(f, v)
--- table typed files=2
SELECT id, CAST(d AS DATE) AS d, CAST(t AS TIMESTAMP) AS t, CAST(c AS DECIMAL(12, 2)) AS c, CAST(c AS DECIMAL(38, 10)) AS w, s FROM VALUES (1, '2020-01-01', '2020-01-01 00:00:00.000001', '1.50', 'a'),
  (2, '2020-01-01', '2020-01-01 00:00:00.000001', '1.5', 'a'), (3, '0001-01-01', '1900-06-01 12:00:00', '-99999.99', 'ü'), (4, NULL, NULL, NULL, NULL), (5, '9999-12-31', '2262-05-01 00:00:00', '0', ''),
  (6, NULL, '2020-01-01 00:00:00.000001', '0.00', 'ü') AS t(id, d, t, c, s)
--- case inner
SELECT l.k, l.s, r.s AS rs FROM l JOIN r ON l.k = r.k
--- case left_outer
SELECT l.k, l.s, r.s AS rs FROM l LEFT JOIN r ON l.k = r.k
--- case right_outer
SELECT l.s, r.k, r.s AS rs FROM l RIGHT JOIN r ON l.k = r.k
--- case full_outer
SELECT l.k, l.s, r.k AS rk, r.s AS rs FROM l FULL JOIN r ON l.k = r.k
--- case left_outer_condition
SELECT l.k, l.s, r.s AS rs FROM l LEFT JOIN r ON l.k = r.k AND l.v < r.v
--- case full_outer_condition
SELECT l.k, l.s, r.k AS rk, r.s AS rs FROM l FULL JOIN r ON l.k = r.k AND l.v > r.v
--- case semi
SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k)
--- case semi_condition
SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v < l.v)
--- case anti
SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)
--- case anti_condition
SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v < l.v)
--- case null_safe
SELECT l.s, r.s AS rs FROM l JOIN r ON l.k <=> r.k
--- case non_equi
SELECT l.s, r.s AS rs FROM l JOIN r ON l.v < r.v
--- case non_equi_left
SELECT l.s, r.s AS rs FROM l LEFT JOIN r ON l.v < r.v AND r.k > 1
--- case cross_join
SELECT l.s, r.s AS rs FROM l CROSS JOIN r
--- case existence
SELECT l.s FROM l WHERE l.v > 45 OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k)
--- case float_keys
SELECT fl.v, fr.v AS rv FROM fl JOIN fr ON fl.f = fr.f
--- case inner_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.k, l.s, r.s AS rs FROM l JOIN r ON l.k = r.k
--- case left_outer_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.k, l.s, r.s AS rs FROM l LEFT JOIN r ON l.k = r.k AND l.v < r.v
--- case full_outer_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.k, l.s, r.k AS rk, r.s AS rs FROM l FULL JOIN r ON l.k = r.k AND l.v > r.v
--- case semi_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v < l.v)
--- case anti_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v < l.v)
--- case float_keys_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT fl.v, fr.v AS rv FROM fl JOIN fr ON fl.f = fr.f
--- case self_join
SELECT a.s, b.s AS bs FROM l a JOIN l b ON a.k = b.k WHERE a.v < b.v
--- case three_way
SELECT a.k, count(*) AS c FROM l a JOIN r b ON a.k = b.k JOIN l c ON b.k = c.k GROUP BY a.k
--- case null_types
SELECT l.k, l.s, r.s AS rs FROM l LEFT JOIN r ON l.k <=> r.k AND l.v <> r.v
--- case existence_condition
SELECT l.s, EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND r.v > l.v) AS e FROM l
--- case existence_as_value
SELECT l.s, EXISTS (SELECT 1 FROM r WHERE r.k = l.k) AS f, l.k IN (SELECT k FROM r WHERE v > 4) AS g FROM l
--- case existence_or
SELECT l.s FROM l WHERE l.k IN (SELECT k FROM r WHERE v > 4) OR NOT EXISTS (SELECT 1 FROM r WHERE r.s = l.s)
--- case existence_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.s FROM l WHERE l.v > 45 OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k)
--- case right_outer_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.s, r.k, r.s AS rs FROM l RIGHT JOIN r ON l.k = r.k AND l.v < 100 AND r.v > 1
--- case semi_plain_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k)
--- case anti_plain_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)
--- case full_outer_plain_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.k, l.s, r.k AS rk, r.s AS rs FROM l FULL JOIN r ON l.k = r.k
--- case two_keys_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.d, a.t, a.c, a.s, b.id FROM typed a JOIN typed b ON a.d = b.d AND a.t = b.t AND a.c = b.c AND a.s = b.s
--- case timestamp_keys_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id, b.id AS b FROM typed a FULL JOIN typed b ON a.t = b.t AND a.id < b.id
--- case decimal_keys_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id, b.id AS b FROM typed a LEFT JOIN typed b ON a.c = b.c AND b.id > 2
--- case wide_decimal_keys_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id, b.id AS b FROM typed a RIGHT JOIN typed b ON a.w = b.w
--- case string_keys_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.id FROM typed a LEFT ANTI JOIN typed b ON a.s = b.s AND a.id <> b.id
--- case date_keys
SELECT a.id, b.id AS b FROM typed a LEFT JOIN typed b ON a.d = b.d AND a.t = b.t
--- case mixed_decimal_keys
SELECT a.id, b.id AS b FROM typed a JOIN typed b ON a.c = b.w
--- case float_outer_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT fl.v, fr.v AS rv FROM fl FULL JOIN fr ON fl.f = fr.f AND fl.v > 1
--- case float_null_safe_sort_merge spark.sql.autoBroadcastJoinThreshold=-1
SELECT fl.v, fr.v AS rv FROM fl JOIN fr ON fl.f <=> fr.f
--- case float_anti
SELECT fl.v FROM fl LEFT ANTI JOIN fr ON fl.f = fr.f
--- case shuffled_hash spark.sql.autoBroadcastJoinThreshold=-1
SELECT /*+ SHUFFLE_HASH(r) */ l.k, l.s, r.s AS rs FROM l LEFT JOIN r ON l.k = r.k AND l.v < r.v
--- case shuffled_hash_full spark.sql.autoBroadcastJoinThreshold=-1
SELECT /*+ SHUFFLE_HASH(r) */ l.k, l.s, r.k AS rk, r.s AS rs FROM l FULL JOIN r ON l.k = r.k AND l.v > r.v
--- case non_equi_semi
SELECT l.s FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.v > l.v)
--- case non_equi_anti
SELECT l.s FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.v < l.v)
--- case non_equi_full refused=Join
SELECT l.s, r.s AS rs FROM l FULL JOIN r ON l.v < r.v
--- case aliased_self_join spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.s, b.s AS t FROM (SELECT * FROM l WHERE v > 15) a FULL JOIN (SELECT * FROM l WHERE v < 45) b ON a.k = b.k
