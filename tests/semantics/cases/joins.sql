-- Every join type with NULL keys, duplicates and conditions.
--- table l files=2
SELECT * FROM VALUES (1, 'a', 10), (1, 'b', 20), (2, 'c', 30), (NULL, 'd', 40), (4, 'e', 50), (5, NULL, 60) AS t(k, s, v)
--- table r files=3
SELECT * FROM VALUES (1, 'x', 15), (1, 'y', 5), (2, NULL, 30), (NULL, 'z', 1), (6, 'w', 99) AS t(k, s, v)
--- table fl
SELECT CAST(f AS DOUBLE) AS f, v FROM VALUES ('NaN', 1), ('0.0', 2), ('-0.0', 3), (NULL, 4) AS t(f, v)
--- table fr
SELECT CAST(f AS DOUBLE) AS f, v FROM VALUES ('NaN', 10), ('-0.0', 20), (NULL, 40) AS t(f, v)
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
