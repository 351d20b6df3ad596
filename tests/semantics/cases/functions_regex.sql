-- Regular expressions: the part of Java's language that is executed, and what is refused.
--- table t files=2
SELECT CAST(id AS INT) AS id, s FROM VALUES (1, 'hello world'), (2, ''), (3, NULL), (4, 'a1b22c333'), (5, 'one, two;three'), (6, 'line\n'), (7, 'line\r\n'), (8, 'two\nlines'), (9, '٣'), (10, 'äöü€𝄞z'), (11, '  spaced   out '), (12, 'a.b|c'), (13, 'aaa'), (14, 'foobar foo'),
  (15, '2024-02-29'), (16, 'KEY=value;k2=v2;'), (17, 'x\u0085'), (18, 'tab\there'), (19, ',,a,,'), (20, 'ab12-34cd') AS t(id, s)
--- case rlike
SELECT id, s RLIKE 'l+o' AS a, s RLIKE '^\\d$' AS b, s RLIKE '^l.*e$' AS c, s RLIKE '[a-c]\\d{2,}' AS d, s RLIKE '^(foo|bar)+' AS e, s RLIKE '^$' AS f, s RLIKE '.' AS g, s RLIKE '^.{6}$' AS h, s RLIKE 'ö.€' AS i, s RLIKE '\\s' AS j, s RLIKE '[^a-z]' AS k, s RLIKE 'e$' AS l, s RLIKE '' AS m,
  s RLIKE '\\w+=\\w+;' AS n, s RLIKE '^\\W' AS o, regexp_like(s, 'a.b') AS p FROM t
--- case filter
SELECT id FROM t WHERE s RLIKE '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' OR regexp(s, 'o+b')
--- case replace
SELECT id, regexp_replace(s, '[aeiou]', '*') AS a, regexp_replace(s, '\\d+', '') AS b, regexp_replace(s, ' +', ' ') AS c, regexp_replace(s, '(foo|o)', '<x>') AS d, regexp_replace(s, '[^a-z0-9]', '') AS e, regexp_replace(s, 'l.?', 'L') AS f FROM t
--- case extract
SELECT id, regexp_extract(s, '(\\d+)-(\\d+)', 2) AS a, regexp_extract(s, '(\\w+)=(\\w+)', 1) AS b, regexp_extract(s, '[a-z]+\\d', 0) AS c, regexp_extract(s, '(x|f)oo', 1) AS d, regexp_extract_all(s, '(\\d)\\d', 1) AS e, regexp_extract_all(s, '[a-z]+', 0) AS f FROM t
--- case split
SELECT id, split(s, ',') AS a, split(s, '\\|') AS b, split(s, '[,;] *') AS c, split(s, '\\s+') AS d, split(s, 'o', 2) AS e, split(s, ',', 0) AS f, size(split(s, 'a')) AS g, split(s, '\\.')[0] AS h FROM t WHERE s LIKE '%' AND s RLIKE '[.]'
--- case split_all
SELECT id, split(s, ',') AS a, split(s, '[,;] *') AS c, split(s, '\\s+') AS d, split(s, 'o', 2) AS e, split(s, ',', 0) AS f, split(s, 'a', -1) AS g FROM t
--- case split_part
SELECT id, split_part(s, ',', 1) AS a, split_part(s, ',', -1) AS b, split_part(s, 'o', 9) AS c, split_part(s, '', 1) AS d FROM t
--- case split_part_zero
SELECT id, split_part(s, ',', 0) AS a FROM t
--- case word_boundary refused=RLIKE
SELECT id, s RLIKE '\\bfoo' AS a FROM t
--- case flags refused=RLIKE
SELECT id, s RLIKE '(?i)HELLO' AS a FROM t
--- case replace_by_groups refused=regexp_replace
SELECT id, regexp_replace(s, '(\\d+)', '[$1]') AS a FROM t
--- case replace_of_nothing refused=regexp_replace
SELECT id, regexp_replace(s, 'a*', 'x') AS a FROM t
--- case extract_at_the_end refused=regexp_extract
SELECT id, regexp_extract(s, '(\\w)$', 1) AS a FROM t
--- case split_of_nothing refused=split
SELECT id, split(s, '') AS a FROM t
--- case extract_of_a_repeated_group refused=regexp_extract
SELECT id, regexp_extract(s, '(o)+', 1) AS a FROM t
