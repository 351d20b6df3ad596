-- Inputs without rows or without any file partition.
--- table t files=2
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(k, s)
--- table no_rows
SELECT * FROM VALUES (1, 'a') AS t(k, s) WHERE k > 5
--- case scan
SELECT * FROM no_rows
--- case filter_to_nothing
SELECT k + 1 AS x FROM t WHERE k > 100
--- case always_false folded=yes
SELECT k, s FROM t WHERE k <> k
--- case inner_join
SELECT t.s FROM t JOIN no_rows n ON t.k = n.k
--- case left_join
SELECT t.s, n.s AS ns FROM t LEFT JOIN no_rows n ON t.k = n.k
--- case right_join_of_empty
SELECT t.s, n.s AS ns FROM no_rows n RIGHT JOIN t ON t.k = n.k
--- case full_join
SELECT t.s, n.s AS ns FROM t FULL JOIN no_rows n ON t.k = n.k
--- case left_nested_loop
SELECT t.s, n.s AS ns FROM t LEFT JOIN no_rows n ON t.k < n.k
--- case not_exists
SELECT t.s FROM t WHERE NOT EXISTS (SELECT 1 FROM no_rows n WHERE n.k = t.k)
--- case existence_or
SELECT t.s FROM t WHERE t.k = 1 OR EXISTS (SELECT 1 FROM no_rows n WHERE n.k = t.k)
--- case union
SELECT k FROM t UNION ALL SELECT k FROM no_rows
--- case sort_limit
SELECT k FROM no_rows ORDER BY k LIMIT 3
--- case limit_zero folded=yes
SELECT k FROM t LIMIT 0
--- case scalar_subquery_without_row
SELECT s, (SELECT max(k) FROM no_rows) AS m FROM t
--- case distinct
SELECT DISTINCT s FROM no_rows
