-- Functions of arrays, maps and structs.
--- table t files=2
SELECT CAST(id AS INT) AS id, a, s, d, k, CAST(p AS INT) AS p FROM VALUES
  (1, array(3, 1, 2), array('b', 'a', NULL), array(1.0D, double('NaN'), -0.0D), 1, 1), (2, CAST(array() AS ARRAY<INT>), CAST(array() AS ARRAY<STRING>), CAST(array() AS ARRAY<DOUBLE>), 2, -1), (3, NULL, NULL, NULL, 3, 2),
  (4, array(1, NULL, 3), array('ä', '', 'z'), array(NULL, 0.0D, -0.0D), 2, -2), (5, array(NULL), array(NULL), array(double('Infinity'), double('-Infinity')), NULL, 1), (6, array(5, 5, 5, 7), array('x', 'x'), array(2.5D, 2.5D), 5, NULL) AS t(id, a, s, d, k, p)
--- table nested
SELECT CAST(id AS INT) AS id, aa, m, st FROM VALUES (1, array(array(1, 2), array(3)), map('a', 1, 'b', NULL), named_struct('x', 1, 'y', 'one')), (2, array(array(4), NULL), map(), named_struct('x', NULL, 'y', 'two')), (3, NULL, NULL, NULL), (4, array(CAST(array() AS ARRAY<INT>), array(NULL)), map('z', 26), named_struct('x', 4, 'y', NULL)) AS t(id, aa, m, st)
--- case search
SELECT id, array_contains(a, k) AS x, array_contains(a, 2) AS y, array_contains(d, 0.0D) AS z, array_contains(d, 2.5D) AS w, array_contains(s, '') AS v, array_position(a, k) AS p1, array_position(a, 9) AS p2, array_position(s, 'x') AS p3 FROM t
--- case sizes
SELECT id, size(a) AS x, cardinality(s) AS y, array_size(d) AS z FROM t
--- case sizes_of_nested
SELECT id, size(aa) AS x, size(m) AS y FROM nested
--- case largest_and_smallest
SELECT id, array_max(a) AS x, array_min(a) AS y, array_max(d) AS z, array_min(d) AS w, array_max(s) AS v, array_min(s) AS u FROM t
--- case removal
SELECT id, array_remove(a, k) AS x, array_remove(a, 5) AS y, array_remove(s, 'x') AS z, array_compact(a) AS w FROM t
--- case removal_of_doubles
SELECT id, array_remove(d, 0.0D) AS x FROM t
--- case distinct
SELECT id, array_distinct(a) AS x, array_distinct(s) AS y, array_union(a, array(1, 9, NULL)) AS z FROM t
--- case distinct_doubles refused=array_distinct
SELECT id, array_distinct(d) AS x FROM t
--- case order_reversed
SELECT id, reverse(a) AS x, reverse(s) AS y FROM t
--- case sorted
SELECT id, sort_array(a) AS x, sort_array(a, false) AS y, sort_array(s) AS z FROM t
--- case sorted_with_comparator
SELECT id, array_sort(a) AS x FROM t
--- case made
SELECT id, array(k, p, 7) AS x, array(k) AS y, array_repeat(k, 3) AS z, array_repeat(s, 2) AS w, array_repeat('x', p) AS v FROM t
--- case sliced
SELECT id, slice(a, 2, 2) AS x, slice(a, -2, 2) AS y, slice(s, 1, 1) AS z, slice(a, 1, 0) AS w FROM t
--- case joined
SELECT id, array_join(s, ',') AS x, array_join(s, ', ', '?') AS y, concat_ws('-', s) AS z, concat_ws('-', 'a', s, array('b', 'c')) AS w FROM t
--- case overlap
SELECT id, arrays_overlap(a, array(1, 9)) AS x, arrays_overlap(a, array(8, CAST(NULL AS INT))) AS y, arrays_overlap(s, s) AS z FROM t
--- case flattened
SELECT id, flatten(aa) AS x FROM nested
--- case elements ansi=false
SELECT id, a[0] AS x, a[k] AS y, element_at(a, -1) AS z, element_at(a, p) AS w, try_element_at(a, 9) AS v, get(s, 1) AS u, element_at(s, 2) AS t FROM t
--- case elements_within_bounds ansi=true
SELECT id, a[0] AS x, element_at(a, -1) AS z, element_at(a, 1) AS w, try_element_at(a, 9) AS v, get(s, 1) AS u FROM t WHERE id <> 2
--- case of_maps_and_structs
SELECT id, map_keys(m) AS x, map_values(m) AS y, m['a'] AS z, element_at(m, 'b') AS w, try_element_at(m, 'z') AS v, st.x AS u, st.y AS t, named_struct('p', st.x, 'q', id) AS r FROM nested
--- case sorted_doubles refused=array_sort
SELECT id, sort_array(d) AS x, array_sort(d) AS y FROM t
--- case sliced_by_columns refused=slice
SELECT id, slice(a, k, 1) AS x FROM t
--- case entries refused=map_entries
SELECT id, map_entries(m) AS x FROM nested
