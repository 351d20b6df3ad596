-- Faults that other native engines had with numbers, NaN, signed zero and hashing (the N and Z rows of the list of faults), on columns.
--- table dec38
SELECT CAST(v AS DECIMAL(38, 38)) AS v FROM VALUES ('0.6'), ('0.6'), ('-0.6') AS t(v)
--- table dec38i
SELECT i, CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)) AS v FROM VALUES (1), (2) AS t(i)
--- table specials files=2
SELECT CAST(d AS DOUBLE) AS d, CAST(d AS FLOAT) AS f FROM VALUES ('NaN'), ('Infinity'), ('-Infinity'), ('0.0'), ('-0.0'), ('4.9E-324'), ('1.7976931348623157E308'), ('-3.4028235E38'), (NULL), ('1E10'),
  ('1.0E-3'), ('123456789.125'), ('1.0E7'), ('9999999.0') AS t(d)
--- table exact
SELECT CAST(v AS DECIMAL(38, 18)) AS v FROM VALUES ('12345.6789'), ('123456.789012'), ('76543.21'), ('0.1'), (NULL) AS t(v)
--- table small
SELECT CAST(v AS DECIMAL(18, 10)) AS v, CAST(v AS DECIMAL(7, 2)) AS w FROM VALUES ('0'), ('0.0000001'), ('12.5'), ('-1'), (NULL) AS t(v)
--- table dec20
SELECT CAST('11000000000000000000' AS DECIMAL(20, 0)) AS v
--- table ints
SELECT CAST(v AS INT) AS i, CAST(w AS BIGINT) AS l, CAST(b AS TINYINT) AS b, CAST(s AS SMALLINT) AS s FROM VALUES ('2147483647', '5000000000000000000', '0', '7'), ('-2147483648', '-9223372036854775808', '-128', '-32768'),
  ('-1', '9223372036854775807', '127', '32767'), (NULL, NULL, NULL, NULL), ('7', '25', '5', '15') AS t(v, w, b, s)
--- table zeros files=1
SELECT CAST(a AS FLOAT) AS a, CAST(a AS DOUBLE) AS d, i FROM VALUES ('0.0', 1), ('-0.0', 2), ('1.0', 3), ('NaN', 4), ('NaN', 5) AS t(a, i)
--- table hashed
SELECT CAST(v AS DECIMAL(18, 2)) AS c, CAST(v AS DECIMAL(38, 0)) AS w FROM VALUES ('1.23'), ('-1.23'), ('0.00'), (NULL), ('99999999999999.99') AS t(v)
--- case n01_sum_of_38_digits
SELECT sum(v) AS s FROM dec38
--- case n02_sliding_sum_of_38_digits refused=Decimal
SELECT i, sum(v) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM dec38i
--- case n02_running_sum_of_38_digits ansi=false
SELECT i, sum(v) OVER (ORDER BY i) AS s FROM dec38i
--- case n04_specials_to_decimal
SELECT CAST(d AS DECIMAL(10, 2)) AS v FROM specials WHERE isnan(d) OR d > 1E300 OR d < -1E300
--- case n05_decimal_to_double
SELECT CAST(v AS DOUBLE) AS d FROM exact
--- case n07_decimal_to_string
SELECT CAST(v AS STRING) AS s, CAST(w AS STRING) AS t FROM small
--- case n08_square
SELECT v * v AS v FROM dec20
--- case n10_round_long ansi=true
SELECT round(l, -19) AS r FROM ints
--- case n10_round_long_legacy ansi=false
SELECT round(l, -19) AS r FROM ints
--- case n11_round_int
SELECT round(i, -1) AS r FROM ints
--- case n13_remainder_of_the_least
SELECT i % -1 AS a, l % CAST(-1 AS BIGINT) AS b FROM ints
--- case n13_remainder_of_small spark.comet.scan.unsignedSmallIntSafetyCheck=false
SELECT b % CAST(-1 AS TINYINT) AS a, s % CAST(-1 AS SMALLINT) AS b FROM ints
--- case n14_pmod refused=pmod
SELECT pmod(-1, i) AS p FROM ints
--- case n16_pmod_of_decimals refused=pmod
SELECT pmod(v, CAST(3 AS DECIMAL(5, 2))) AS p FROM small
--- case n17_pmod_of_text_and_zero refused=pmod
SELECT pmod(CAST(i AS STRING), 3) AS p, pmod(i, 0) AS q FROM ints
--- case n19_signum spark.comet.scan.unsignedSmallIntSafetyCheck=false
SELECT signum(d) AS s FROM specials
--- case n19_signum_of_small spark.comet.scan.unsignedSmallIntSafetyCheck=false
SELECT b, signum(b) AS t FROM ints
--- case n20_float_to_int ansi=false
SELECT CAST(f AS INT) AS i, CAST(f AS BIGINT) AS l, CAST(d AS SMALLINT) AS s FROM specials
--- case n20_nan_to_int ansi=true
SELECT CAST(f AS INT) AS i FROM specials WHERE isnan(f)
--- case n22_double_to_string refused=CAST(DOUBLE AS STRING)
SELECT CAST(d AS STRING) AS s, CAST(f AS STRING) AS t FROM specials
--- case z01_order_of_zeros
SELECT i, a FROM zeros ORDER BY a
--- case z03_text_of_zero refused=CAST(FLOAT AS STRING)
SELECT CAST(a AS STRING) AS s, length(CAST(a AS STRING)) AS l FROM zeros
--- case z04_distinct_nan
SELECT count(DISTINCT a) AS c, count(DISTINCT d) AS e FROM zeros
--- case z10_spread_of_nan
SELECT stddev_pop(d) AS a, var_samp(d) AS b FROM zeros WHERE i = 4
--- case z06_extremes_of_arrays
SELECT array_max(a) AS x, array_min(a) AS y, array_max(b) AS z, array_min(b) AS w FROM lists
--- case z07_distinct_zeros refused=array_distinct
SELECT array_distinct(b) AS x FROM lists
--- case z12_hash
SELECT hash(c) AS h, xxhash64(c) AS x FROM hashed
--- case z12_murmur3
SELECT hash(c) AS h FROM hashed
--- case z13_hash_of_38_digits
SELECT hash(w) AS h, xxhash64(w) AS x FROM hashed
--- table lists
SELECT a, b FROM VALUES (array(double('NaN'), 1.0D, 2.0D), array(0.0D, double('-0.0'), 1.0D)), (array(double('-Infinity'), NULL), array(double('NaN'), double('NaN'))), (NULL, array()) AS t(a, b)
--- case z13_join_on_38_digits spark.sql.autoBroadcastJoinThreshold=-1
SELECT a.w FROM hashed a JOIN hashed b ON a.w = b.w
--- case z15_comparisons
SELECT i, a = 0 AS z, a < 0 AS l, a > 1 AS g, a <=> CAST('NaN' AS FLOAT) AS n, a IN (0.0F, CAST('NaN' AS FLOAT)) AS m, d = CAST('NaN' AS DOUBLE) AS e, d >= 0 AS ge FROM zeros
--- case z15_filter_nan
SELECT i FROM zeros WHERE d = CAST('NaN' AS DOUBLE)
--- case z15_filter_zero
SELECT i FROM zeros WHERE d = 0.0D
