-- Table-generating functions over arrays: empty ones, NULL, elements that are NULL, positions, outer.
--- table lists files=2
SELECT id, s, CASE WHEN id = 3 THEN NULL WHEN id = 4 THEN array() WHEN id = 5 THEN array(CAST(NULL AS INT), 7) ELSE sequence(1, CAST(id AS INT)) END AS a,
  CASE WHEN id % 2 = 0 THEN array('x', NULL, concat('y', s)) END AS t FROM (SELECT id, concat('s', id) AS s FROM range(1, 9) t(id))
--- case explode
SELECT id, e FROM lists LATERAL VIEW explode(a) v AS e
--- case explode_outer
SELECT id, s, e FROM lists LATERAL VIEW OUTER explode(a) v AS e
--- case posexplode
SELECT id, p, e FROM lists LATERAL VIEW posexplode(t) v AS p, e
--- case posexplode_outer
SELECT id, p, e FROM lists LATERAL VIEW OUTER posexplode(t) v AS p, e
--- case twice
SELECT id, e, f FROM lists LATERAL VIEW explode(a) v AS e LATERAL VIEW explode(t) w AS f
--- case counted
SELECT e, count(*) AS c, sum(id) AS s FROM (SELECT id, explode(a) AS e FROM lists) GROUP BY e
--- case joined
SELECT x.id, y.e FROM lists x JOIN (SELECT explode(a) AS e FROM lists) y ON x.id = y.e
--- case sizes
SELECT id, size(a) AS n, size(t) AS m, cardinality(a) AS c FROM lists
--- case map refused=explode
SELECT explode(map(id, s)) AS (k, v) FROM lists
--- case inlined refused=inline
SELECT inline(array(named_struct('a', id, 'b', s))) FROM lists
--- case stacked refused=generators with multiple inputs
SELECT stack(2, id, id + 1) AS x FROM lists
