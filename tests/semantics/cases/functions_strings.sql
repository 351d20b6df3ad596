-- Functions of strings, on columns with NULL, empty, non-ASCII, supplementary and combining characters.
--- table t files=2
SELECT CAST(id AS INT) AS id, s, p, q, CAST(n AS INT) AS n, CAST(n AS BIGINT) AS l, encode(s, 'UTF-8') AS b FROM VALUES
  (1, 'hello world', 'o', '0', 3), (2, '', 'x', 'yz', -1), (3, 'äöü€𝄞z', 'ö', '€', 2), (4, NULL, 'a', 'b', 1), (5, '  padded  ', ' ', '_', 0), (6, 'a.b.c.d', '.', '', -2),
  (7, 'aaaa', 'aa', 'b', 2), (8, 'e\u0301te\u0301', 'e', 'E', 5), (9, 'Robert', '', '-', 12), (10, 'x', 'xyz', '\u0000', 30), (11, 'Tymczak', 'cz', NULL, NULL), (12, '𝄞𝄞', '𝄞', '𝄢', 1),
  (13, 'Ashcraft', 'abcab', 'xy', 200), (14, 'one,two,,three', ',', ';', -1), (15, 'ΑΣ Σ', 'Σ', 'ς', 300), (16, '\t tab\n', '\t\n', '', -2147483648), (17, '7up', 'u', 'U', 7) AS t(id, s, p, q, n)
--- case trim_of_characters
SELECT id, trim(BOTH p FROM s) AS a, ltrim(p, s) AS b, rtrim(p, s) AS c, btrim(s, p) AS d, trim(LEADING 'h' FROM s) AS e, btrim(s) AS f FROM t
--- case replace_and_translate
SELECT id, replace(s, p, q) AS a, replace(s, p) AS b, replace(s, 'a', 'xx') AS c, translate(s, p, q) AS d, translate(s, 'aeo', '1\u0000') AS e, translate(s, 'äö𝄞', 'ao') AS f FROM t
--- case reverse_repeat_space
SELECT id, reverse(s) AS a, repeat(s, n) AS b, repeat(p, 3) AS c, space(n) AS d, soundex(s) AS e, left(s, n) AS f, right(s, n) AS g, left(s, 2) AS h FROM t WHERE n < 100
--- case pads
SELECT id, lpad(s, n, 'xy') AS a, rpad(s, n, 'ä€') AS b, lpad(s, 8, '') AS c, rpad(s, 8) AS d, lpad(s, -1, 'x') AS e FROM t WHERE n > -100
--- case substring_index
SELECT id, substring_index(s, p, 1) AS a, substring_index(s, p, -1) AS b, substring_index(s, p, 2) AS c, substring_index(s, p, -2) AS d, substring_index(s, p, n) AS e, substring_index(s, '.', 0) AS f FROM t WHERE n > -100
--- case positions
SELECT id, instr(s, p) AS a, ascii(s) AS b, length(s) AS c, levenshtein(s, p) AS d, levenshtein(s, q, 3) AS e, bit_length(s) AS f, octet_length(s) AS g FROM t
--- case characters
SELECT id, char(n) AS a, chr(l * 13 + 65) AS b, ascii(chr(n)) AS c FROM t
--- case concat_ws_of_columns
SELECT id, concat_ws(p, s, q, 'z') AS a, concat_ws(',', s, NULL, q) AS b, concat_ws(q, s, p) AS c FROM t
--- case hexadecimal
SELECT id, hex(s) AS a, hex(l) AS b, hex(b) AS c, bin(l) AS d, hex(unhex(hex(s))) AS e, hex(unhex(p)) AS f, hex(unhex(substring(hex(s), 2))) AS g, base64(b) AS h FROM t
--- case long_base64
SELECT id, base64(unhex(repeat('41E9', n))) AS a FROM t WHERE n > 0
--- case substring_of_bytes
SELECT id, hex(substring(b, 2, 3)) AS a, hex(substring(b, -4, n)) AS c, hex(left(b, 2)) AS d, length(b) AS e FROM t
--- case sizes_of_bytes refused=BinaryType
SELECT id, octet_length(b) AS f, bit_length(b) AS g FROM t
--- case in_a_filter
SELECT id FROM t WHERE instr(s, 'o') > 0 OR reverse(s) = 'x' OR length(replace(s, 'a', '')) = 0
--- case locate refused=locate
SELECT id, locate(p, s) AS a, position(p, s, 2) AS b FROM t
--- case initcap refused=InitCap
SELECT id, initcap(s) AS a FROM t
--- case collated refused=collat
SELECT id, replace(s COLLATE UTF8_LCASE, 'A', 'b') AS a FROM t
--- case collated_translate refused=collat
SELECT id, translate(s COLLATE UTF8_LCASE, 'A', 'b') AS a FROM t
