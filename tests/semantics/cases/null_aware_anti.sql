-- NOT IN: a NULL in the subquery keeps nothing, a NULL key is dropped unless the subquery is empty.
--- table t files=2
SELECT * FROM VALUES (1, 'a'), (2, 'b'), (NULL, 'c'), (3, 'd') AS t(k, s)
--- table with_null
SELECT * FROM VALUES (1), (NULL) AS t(k)
--- table without_null files=2
SELECT * FROM VALUES (1), (7) AS t(k)
--- table no_rows
SELECT * FROM VALUES (1) AS t(k) WHERE k > 5
--- case null_in_subquery
SELECT * FROM t WHERE k NOT IN (SELECT k FROM with_null)
--- case no_null_in_subquery
SELECT * FROM t WHERE k NOT IN (SELECT k FROM without_null)
--- case empty_subquery
SELECT * FROM t WHERE k NOT IN (SELECT k FROM no_rows)
--- case empty_left
SELECT * FROM no_rows WHERE k NOT IN (SELECT k FROM with_null)
--- case filtered_to_empty
SELECT * FROM t WHERE k NOT IN (SELECT k FROM without_null WHERE k > 100)
--- case null_in_subquery_no_broadcast spark.sql.autoBroadcastJoinThreshold=-1
SELECT * FROM t WHERE k NOT IN (SELECT k FROM with_null)
--- case no_null_no_broadcast spark.sql.autoBroadcastJoinThreshold=-1
SELECT * FROM t WHERE k NOT IN (SELECT k FROM without_null)
--- case empty_no_broadcast spark.sql.autoBroadcastJoinThreshold=-1
SELECT * FROM t WHERE k NOT IN (SELECT k FROM no_rows)
--- case in_list_with_null
SELECT s, k IN (1, NULL) AS i, k NOT IN (2, NULL) AS n FROM t
