-- Three-valued logic, CASE, IN, LIKE, string predicates.
--- table b files=2
SELECT CAST(p AS BOOLEAN) AS p, CAST(q AS BOOLEAN) AS q FROM VALUES ('true', 'true'), ('true', 'false'), ('true', NULL), ('false', 'true'), ('false', 'false'),
  ('false', NULL), (NULL, 'true'), (NULL, 'false'), (NULL, NULL) AS t(p, q)
--- table s
SELECT * FROM VALUES (1, 'special requests'), (2, 'a%b'), (3, 'a_b'), (4, ''), (5, NULL), (6, 'äöü€𝄞z'), (7, 'line\nbreak'), (8, 'PROMO TIN'), (9, 'a\\b') AS t(id, s)
--- case and_or_not
SELECT p, q, p AND q AS a, p OR q AS o, NOT p AS n, p <=> q AS e FROM b
--- case filter
SELECT p, q FROM b WHERE p OR NOT q
--- case case_when
SELECT p, q, CASE WHEN p THEN 1 WHEN q THEN 2 END AS x, CASE WHEN p AND q THEN 'both' ELSE 'not' END AS y, if(p, 1, 0) AS z FROM b
--- case null_tests
SELECT p IS NULL AS a, q IS NOT NULL AS b, coalesce(p, q, false) AS c FROM b
--- case like_any
SELECT id, s LIKE '%requests%' AS a, s LIKE 'a\\%b' AS b, s LIKE 'a_b' AS c, s LIKE '' AS d, s LIKE '%' AS e FROM s
--- case like_special
SELECT id, s LIKE '_____z' AS a, s LIKE 'line%break' AS b, s LIKE '%special%requests%' AS c, s LIKE 'a\\\\b' AS d FROM s
--- case starts_ends_contains
SELECT id, s LIKE 'PROMO%' AS a, s LIKE '%TIN' AS b, s LIKE '%öü%' AS c FROM s
--- case substring
SELECT id, substring(s, 1, 2) AS a, substring(s, 2) AS b, substring(s, -3, 2) AS c, substring(s, 0, 2) AS d, substring(s, -10, 3) AS e FROM s
--- case in_list
SELECT id, s IN ('', 'a%b', 'x') AS a, id NOT IN (1, 2, 3) AS b, id IN (1, NULL) AS c FROM s
--- case between
SELECT id FROM s WHERE id BETWEEN 3 AND 6 AND s IS NOT NULL
