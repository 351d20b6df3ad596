-- Sort order of NULL, NaN and zeros, limits, offsets, top-k with ties.
--- table t files=4
SELECT id, id % 7 AS k, CASE WHEN id % 6 = 0 THEN NULL ELSE id * 31 % 11 END AS v FROM range(0, 50) t(id)
--- table f files=2
SELECT id, CAST(f AS DOUBLE) AS f FROM VALUES (1, 'NaN'), (2, '0.0'), (3, '-0.0'), (4, NULL), (5, 'Infinity'), (6, '-Infinity'), (7, '1.5') AS t(id, f)
--- case sort
SELECT k, v, id FROM t ORDER BY k, v DESC, id
--- case sort_nulls
SELECT v, id FROM t ORDER BY v DESC NULLS FIRST, id
--- case sort_nulls_last
SELECT v, id FROM t ORDER BY v ASC NULLS LAST, id DESC
--- case sort_float
SELECT f FROM f ORDER BY f
--- case sort_float_desc
SELECT f FROM f ORDER BY f DESC
--- case top_k
SELECT id, v FROM t ORDER BY v DESC, id LIMIT 5
--- case top_k_ties
SELECT k, id FROM t ORDER BY k LIMIT 10
--- case limit_over_group
SELECT k, count(*) AS c FROM t GROUP BY k ORDER BY c DESC, k LIMIT 3
--- case offset folding=yes
SELECT id FROM t ORDER BY id LIMIT 5 OFFSET 7
--- case limit_only_count
SELECT count(*) AS c FROM (SELECT id FROM t LIMIT 13)
--- case limit_more_than_rows
SELECT id FROM t WHERE id < 3 LIMIT 10
