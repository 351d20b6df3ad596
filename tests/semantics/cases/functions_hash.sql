-- Hashes, digests and checksums of every type, bit by bit.
--- table t files=2
SELECT CAST(id AS INT) AS id, s, encode(s, 'UTF-8') AS b, CAST(d AS DOUBLE) AS d, CAST(d AS FLOAT) AS f, CAST(n AS TINYINT) AS i8, CAST(n AS SMALLINT) AS i16, CAST(n AS INT) AS i32, CAST(n AS BIGINT) AS i64, CAST(n AS DECIMAL(18, 2)) AS d18,
  CAST(n AS DECIMAL(19, 0)) AS d19, CAST(n AS DECIMAL(38, 9)) AS d38, CAST(dt AS DATE) AS dt, CAST(dt AS TIMESTAMP) AS ts, CAST(n AS BIGINT) % 2 = 0 AS bo, array(CAST(n AS INT), 7, NULL) AS ar, named_struct('x', s, 'y', CAST(d AS DOUBLE)) AS st FROM VALUES
  (1, 'Spark', '1.5', '1', '2020-02-29'), (2, '', '0.0', '0', '1970-01-01'), (3, 'äöü€𝄞z', '-0.0', '-1', '1969-12-31'), (4, NULL, NULL, NULL, NULL), (5, 'exactly 32 bytes of text here!!!', 'NaN', '127', '0001-01-01'),
  (6, 'a text of more than thirty-two bytes, and then some more of it', 'Infinity', '-128', '9999-12-31'), (7, 'abc', '-Infinity', '99', '2024-01-01'), (8, 'abcdefgh', '4.9E-324', '-99', '1582-10-15'),
  (9, '\u0000', '1.7976931348623157E308', '64', '2000-01-01'), (10, 'é', '0.1', '-65', '1999-12-31'), (11, 'abcdefghijkl', '123456.789', '12', '2038-01-19') AS t(id, s, d, n, dt)
--- table wide
SELECT CAST(v AS DECIMAL(38, 0)) AS v, CAST(v AS DECIMAL(38, 0)) - 1 AS w FROM VALUES ('0'), ('127'), ('128'), ('-128'), ('-129'), ('32767'), ('32768'), ('9223372036854775807'), ('-9223372036854775808'), ('99999999999999999999999999999999999999'), ('-99999999999999999999999999999999999998'), (NULL) AS t(v)
--- case murmur3 spark.comet.scan.unsignedSmallIntSafetyCheck=false
SELECT id, hash(s) AS a, hash(b) AS b, hash(d) AS c, hash(f) AS d, hash(i8, i16) AS e, hash(i32) AS f, hash(i64) AS g, hash(d18) AS h, hash(dt) AS i, hash(ts) AS j, hash(bo) AS k, hash(s, d, i64, NULL, dt) AS l FROM t
--- case xxhash64 spark.comet.scan.unsignedSmallIntSafetyCheck=false
SELECT id, xxhash64(s) AS a, xxhash64(b) AS b, xxhash64(d) AS c, xxhash64(f) AS d, xxhash64(i8, i16) AS e, xxhash64(i32) AS f, xxhash64(i64) AS g, xxhash64(d18) AS h, xxhash64(dt) AS i, xxhash64(ts) AS j, xxhash64(bo) AS k, xxhash64(s, d, i64, NULL, dt) AS l FROM t
--- case xxhash64_of_all_lengths
SELECT id, xxhash64(repeat('aé', CAST(id AS INT))) AS a, hash(repeat('aé', CAST(id AS INT))) AS b, xxhash64(substring('abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ', 1, CAST(id AS INT))) AS c FROM range(0, 70)
--- case of_more_than_18_digits
SELECT v, hash(v) AS a, hash(w) AS b, xxhash64(v) AS c, xxhash64(w) AS d FROM wide
--- case of_19_digits
SELECT id, hash(d19) AS a, xxhash64(d19) AS b, hash(d38) AS c, xxhash64(d38, s) AS d FROM t
--- case of_arrays_and_structs
SELECT id, hash(ar) AS a, xxhash64(ar) AS b, hash(st) AS c, xxhash64(st) AS d FROM t
--- case digests
SELECT id, md5(b) AS a, sha1(b) AS b, sha2(b, 256) AS c, sha2(b, 0) AS d, sha2(b, 224) AS e, sha2(b, 384) AS f, sha2(b, 512) AS g, sha2(b, 1) AS h, crc32(b) AS i FROM t
