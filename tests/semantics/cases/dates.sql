-- Dates: parts, arithmetic, comparison.
--- table d files=2
SELECT id, CAST(s AS DATE) AS d FROM VALUES (1, '1992-01-31'), (2, '1998-12-01'), (3, '2000-02-29'), (4, '1969-12-31'), (5, '0001-01-01'), (6, '9999-12-31'), (7, NULL) AS t(id, s)
--- case parts
SELECT id, year(d) AS y, month(d) AS m, day(d) AS dd, quarter(d) AS q FROM d
--- case extract
SELECT id, extract(YEAR FROM d) AS y, date_part('MONTH', d) AS m FROM d
--- case add_days
SELECT id, date_add(d, 30) AS a, date_sub(d, 90) AS b, datediff(d, DATE'1995-06-17') AS c FROM d WHERE id NOT IN (5, 6)
--- case compare folding=yes
SELECT id FROM d WHERE d >= DATE'1992-01-31' AND d < DATE'1992-01-31' + INTERVAL '8' YEAR
--- case group_by_year
SELECT year(d) AS y, count(*) AS c FROM d GROUP BY year(d)
--- case order
SELECT id, d FROM d ORDER BY d DESC NULLS FIRST
--- case min_max
SELECT min(d) AS a, max(d) AS b, count(DISTINCT d) AS c FROM d
--- case to_string
SELECT id, CAST(d AS STRING) AS s FROM d
