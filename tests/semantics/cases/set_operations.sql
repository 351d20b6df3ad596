-- UNION, INTERSECT, EXCEPT, shared subplans, scalar subqueries.
--- table a files=2
SELECT * FROM VALUES (1, 'x'), (1, 'x'), (2, 'y'), (NULL, 'z') AS t(k, s)
--- table b files=3
SELECT * FROM VALUES (1, 'x'), (3, 'w'), (NULL, 'z') AS t(k, s)
--- table d
SELECT CAST('2020-02-03' AS DATE) AS d, CAST('12.50' AS DECIMAL(10, 2)) AS c, 7L AS l, 'text' AS s, CAST(1.25 AS DOUBLE) AS f
--- case union_all
SELECT k, s FROM a UNION ALL SELECT k, s FROM b
--- case union_distinct
SELECT k, s FROM a UNION SELECT k, s FROM b
--- case intersect
SELECT k, s FROM a INTERSECT SELECT k, s FROM b
--- case except
SELECT k, s FROM a EXCEPT SELECT k, s FROM b
--- case union_widened
SELECT k FROM a UNION ALL SELECT CAST(k AS BIGINT) FROM b
--- case union_of_groups
SELECT s, sum(n) AS n FROM (SELECT s, count(*) AS n FROM a GROUP BY s UNION ALL SELECT s, count(*) AS n FROM b GROUP BY s) GROUP BY s
--- case union_of_groups_left_apart spark.sql.unionOutputPartitioning=true refused=unionOutputPartitioning
SELECT s, sum(n) AS n FROM (SELECT s, count(*) AS n FROM a GROUP BY s UNION ALL SELECT s, count(*) AS n FROM b GROUP BY s) GROUP BY s
--- case shared_cte
WITH c AS (SELECT s, count(*) AS n FROM a GROUP BY s) SELECT x.s, x.n FROM c x JOIN c y ON x.n = y.n WHERE x.s <= y.s
--- case almost_shared
SELECT x.n, y.n AS m FROM (SELECT s, count(*) AS n FROM a GROUP BY s) x JOIN (SELECT s, count(*) + 1 AS n FROM a GROUP BY s) y ON x.s = y.s
--- case same_table_two_filters
SELECT x.k, y.k AS yk FROM (SELECT * FROM a WHERE k = 1) x FULL JOIN (SELECT * FROM a WHERE k = 2) y ON x.k = y.k
--- case scalar_in_filter
SELECT k, s FROM a WHERE k = (SELECT max(k) FROM b) OR k = (SELECT min(k) FROM b)
--- case scalar_types
SELECT k, (SELECT d FROM d) AS d, (SELECT c FROM d) AS c, (SELECT l FROM d) AS l, (SELECT s FROM d) AS s, (SELECT f FROM d) AS f FROM b
--- case scalar_two_rows
SELECT k, (SELECT k FROM a) AS x FROM b
