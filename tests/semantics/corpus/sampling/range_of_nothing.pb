
$00000000-0000-0000-0000-0000000000001.2.0@f6ffd54cc144b7bbc9d1892db52506ecdb98365cb4ed9963c3fc728fdf720962"4.1.3*corpus2 
spark.sql.caseSensitivefalse2!
spark.sql.session.timeZoneUTC26
.spark.sql.decimalOperations.allowPrecisionLosstrue2
spark.sql.ansi.enabledtrue2
spark.comet.batchSize81922.
!spark.sql.legacy.timeParserPolicy	CORRECTED2(
spark.sql.mapKeyDedupPolicy	EXCEPTION:

CometRangeR
–•Ê 