-- Samples of tables (the very rows that Spark draws), ranges, limits.
--- table t files=3 fixed=yes
SELECT id, concat('s', id % 7) AS s FROM range(2000) t(id)
--- case half spark.sql.files.openCostInBytes=134217728
SELECT id FROM t TABLESAMPLE (50 PERCENT) REPEATABLE (42)
--- case few spark.sql.files.openCostInBytes=134217728
SELECT id, s FROM t TABLESAMPLE (3 PERCENT) REPEATABLE (7)
--- case negative_seed folded=yes
SELECT count(*) AS c, sum(id) AS s FROM t TABLESAMPLE (20 PERCENT) REPEATABLE (-123456789012)
--- case none
SELECT id FROM t TABLESAMPLE (0 PERCENT) REPEATABLE (1)
--- case all_rows
SELECT count(*) AS c FROM t TABLESAMPLE (100 PERCENT) REPEATABLE (1)
--- case buckets spark.sql.files.openCostInBytes=134217728
SELECT count(*) AS c, min(id) AS i FROM t TABLESAMPLE (BUCKET 3 OUT OF 10) REPEATABLE (5)
--- case of_filtered spark.sql.files.openCostInBytes=134217728
SELECT id FROM (SELECT * FROM t WHERE id % 3 = 1) TABLESAMPLE (10 PERCENT) REPEATABLE (11)
--- case filtered spark.sql.files.openCostInBytes=134217728
SELECT id FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (11) WHERE s = 's3'
--- case of_groups refused=sample
SELECT s FROM (SELECT s, count(*) AS c FROM t GROUP BY s) TABLESAMPLE (50 PERCENT) REPEATABLE (3)
--- case rows
SELECT count(*) AS c FROM t TABLESAMPLE (25 ROWS)
--- case range
SELECT id, id * 2 AS d FROM range(-7, 40, 3)
--- case range_down
SELECT count(*) AS c, min(id) AS a, max(id) AS b, sum(id) AS s FROM range(100, -100, -7, 5)
--- case range_of_nothing
SELECT id FROM range(5, 5)
--- case range_joined
SELECT r.id, t.s FROM range(10) r JOIN t ON r.id = t.id
--- case offset_only folding=yes
SELECT count(*) AS c FROM (SELECT id FROM t LIMIT 100 OFFSET 1950)
--- case limits folding=yes
SELECT id FROM (SELECT id FROM t ORDER BY id LIMIT 20) ORDER BY id DESC LIMIT 5 OFFSET 3
--- case limit_zero folded=yes
SELECT id FROM t LIMIT 0
