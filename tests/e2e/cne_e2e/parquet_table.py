"""The table of cases of parquet_cases.py."""
import decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .parquet_cases import Case
from .semantics import Settings

D = decimal.Decimal
MISMATCH = "Data type mismatches"


def spark_sql(text: str, partition_by=(), options=None, **settings):
    """Files of Spark: one per case unless the text says otherwise. `__` in a setting's name is a dot."""
    def write(spark, folder: Path) -> None:
        with Settings(spark, [(key.replace("__", "."), value) for key, value in settings.items()]):
            frame = spark.sql(text).coalesce(1)
            frame.write.mode("append").options(**options or {}).partitionBy(*partition_by).parquet(str(folder))
    return write


def arrow(columns, schema=None, name="a.parquet", **options):
    """A file of another writer; `columns` maps names to Arrow arrays, or gives them in order for a schema."""
    def write(_, folder: Path) -> None:
        table = pa.table(columns) if schema is None else pa.Table.from_arrays(columns, schema=schema)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, str(folder / name), **options)
    return write


def both(*writers):
    """Files of several writers in one folder."""
    def write(spark, folder: Path) -> None:
        for writer in writers:
            writer(spark, folder)
    return write


def rebase(mode: str) -> dict:
    """Settings under which Spark writes dates and timestamps of a calendar."""
    return {"spark__sql__parquet__datetimeRebaseModeInWrite": mode, "spark__sql__parquet__int96RebaseModeInWrite": mode}


def reading(mode: str) -> dict:
    """Settings under which Spark reads files that do not say which calendar they are of."""
    return {"spark.sql.parquet.datetimeRebaseModeInRead": mode, "spark.sql.parquet.int96RebaseModeInRead": mode}


def with_id(name: str, kind, number: int) -> pa.Field:
    """A field with a Parquet field id."""
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def id_schema(*fields) -> str:
    """A read schema with field ids, as Spark's JSON; each field is (name, type, id or None)."""
    import json
    return json.dumps({"type": "struct", "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {} if number is None else {"parquet.field.id": number}}
        for name, kind, number in fields]})


def with_defaults(spark, folder: Path) -> None:
    """A table to which columns were added after its first file."""
    spark.sql("DROP TABLE IF EXISTS with_defaults")
    spark.sql(f"CREATE TABLE with_defaults (a INT) USING parquet LOCATION '{folder}'")
    spark.sql("INSERT INTO with_defaults VALUES (1), (2)")
    spark.sql("ALTER TABLE with_defaults ADD COLUMNS (b BIGINT DEFAULT 42, c STRING DEFAULT 'x', d DATE DEFAULT DATE'2020-02-29', "
              "e DECIMAL(5,2) DEFAULT 1.5, f DOUBLE, g TIMESTAMP DEFAULT TIMESTAMP'2020-01-01 12:00:00', h BOOLEAN DEFAULT true)")
    spark.sql("INSERT INTO with_defaults (a, b) VALUES (3, 7), (4, NULL)")


OLD_DAYS = """SELECT id, date_add(DATE'0001-01-01', CAST(id * 97 AS INT)) AS d FROM range(0, 6200)
    UNION ALL SELECT 9000, DATE'1582-10-04' UNION ALL SELECT 9001, DATE'1582-10-15' UNION ALL SELECT 9002, DATE'1500-03-01'
    UNION ALL SELECT 9003, DATE'-0044-03-15' UNION ALL SELECT 9004, DATE'9999-12-31' UNION ALL SELECT 9005, CAST(NULL AS DATE)"""
DAYS = "SELECT id, datediff(d, DATE'1970-01-01') AS n FROM t"
OLD_TIMES = """SELECT id, t, named_struct('t', t, 'd', CAST(t AS DATE)) AS s, array(t) AS a FROM (
    SELECT id, timestampadd(HOUR, id * 977, TIMESTAMP'0002-01-01 00:00:00') AS t FROM range(0, 20000, 7)
    UNION ALL SELECT 30000, TIMESTAMP'1582-10-04 23:59:59.999999' UNION ALL SELECT 30001, TIMESTAMP'1899-12-31 23:59:59.999999'
    UNION ALL SELECT 30002, TIMESTAMP'1900-01-01 00:00:00' UNION ALL SELECT 30003, CAST(NULL AS TIMESTAMP))"""
TIMES = "SELECT * FROM t"
INT96 = {"spark__sql__parquet__outputTimestampType": "INT96"}
MILLIS = {"spark__sql__parquet__outputTimestampType": "TIMESTAMP_MILLIS"}
ANCIENT = arrow({"d": pa.array([-354280, 0], pa.date32()), "t": pa.array([-30609835200000000, 0], pa.timestamp("us", "UTC"))})
ROWS = "SELECT id, id % 10 AS k, CAST(id AS STRING) AS s, id * 1.5D AS x FROM range(0, 20000)"
SMALL_SPLITS = {"spark.sql.files.maxPartitionBytes": "4096", "spark.sql.files.openCostInBytes": "0"}
SMALL_GROUPS = {"parquet.block.size": "16384", "parquet.page.size": "1024", "parquet.page.row.count.limit": "100"}

# A copy of a column for each type that it is read as.
NUMBERS = {
    "i8": pa.array([1, -2, 127, None], pa.int8()), "i16": pa.array([300, -2, 32767, None], pa.int16()),
    "i32": pa.array([70000, -2, 2**31 - 1, None], pa.int32()), "i64": pa.array([1, -2, 2**63 - 1, None], pa.int64()),
    "u8": pa.array([1, 200, 255, None], pa.uint8()), "u16": pa.array([1, 40000, 65535, None], pa.uint16()),
    "u32": pa.array([1, 3000000000, 2**32 - 1, None], pa.uint32()), "u64": pa.array([1, 2**63, 2**64 - 1, None], pa.uint64()),
    "f32": pa.array([1.5, -0.0, float("nan"), None], pa.float32()), "d": pa.array([0, 1, -200000, None], pa.date32()),
    "ms": pa.array([0, 1, -3, None], pa.timestamp("ms", "UTC")), "us": pa.array([0, 1, -3, None], pa.timestamp("us", "UTC")),
    "ns": pa.array([0, 1000, -3000, None], pa.timestamp("ns", "UTC")), "nms": pa.array([0, 1, -3, None], pa.timestamp("ms")),
    "nus": pa.array([0, 1, -3, None], pa.timestamp("us")), "t64": pa.array([0, 1, 2, None], pa.time64("us")),
    "dec5": pa.array([D("1.23"), D("-0.05"), D("999.99"), None], pa.decimal128(5, 2)),
    "dec18": pa.array([D("1.23"), D("-0.05"), D("99999999999.99"), None], pa.decimal128(18, 2)),
    "dec38": pa.array([D("1.23"), D("-0.05"), D("1e30"), None], pa.decimal128(38, 2)), "s": pa.array(["a", "é", "", None]),
    "bin": pa.array([b"a", b"\xc3\xa9", b"", None]), "fsb": pa.array([b"0123", b"0000", b"1111", None], pa.binary(4)), "nil": pa.nulls(4, pa.null()),
}
READ_AS = {
    "i8": "tinyint smallint int bigint double date decimal(10,0) decimal(12,2) decimal(38,2)",
    "i16": "tinyint smallint int bigint double date decimal(10,0) decimal(22,2)", "i32": "tinyint smallint int bigint double decimal(10,0) decimal(20,0)",
    "i64": "bigint decimal(20,0) decimal(22,2)", "u8": "tinyint smallint int bigint double date", "u16": "tinyint smallint int bigint double",
    "u32": "bigint double", "u64": "decimal(20,0)", "f32": "float double", "d": "date int bigint tinyint double timestamp_ntz", "ms": "timestamp timestamp_ntz bigint",
    "us": "timestamp timestamp_ntz bigint", "ns": "bigint", "nms": "timestamp timestamp_ntz bigint", "nus": "timestamp timestamp_ntz bigint", "t64": "bigint",
    "dec5": "decimal(5,2) decimal(7,4) decimal(12,2) decimal(38,2)", "dec18": "decimal(18,2) decimal(22,2) decimal(38,4)", "dec38": "decimal(38,2)",
    "s": "string binary", "bin": "string binary", "fsb": "binary", "nil": "int bigint",
}


def pairs(columns) -> tuple[dict, str]:
    """Columns of a file and the schema to read them by."""
    all_of = [(c, kind) for c in columns for kind in READ_AS[c].split()]
    return {f"c{i}": NUMBERS[c] for i, (c, _) in enumerate(all_of)}, ", ".join(f"c{i} {kind}" for i, (_, kind) in enumerate(all_of))


ALL, ALL_SCHEMA = pairs(c for c in READ_AS if c != "nil")
DECIMALS, DECIMALS_SCHEMA = pairs(["dec5", "dec18"])


def mismatch(column: str, kind: str) -> Case:
    """A pair of types that Spark does not read."""
    return Case(f"{column} as {kind}", arrow({"c": NUMBERS[column]}), schema=f"c {kind}")


PARTITIONS = """SELECT id, CAST(id AS INT) AS i, id * 3000000000 AS l, date_add(DATE'2020-02-28', CAST(id AS INT)) AS d,
    timestampadd(SECOND, id, TIMESTAMP'2020-02-29 12:34:56.789') AS t, CAST(id AS DECIMAL(10,2)) / 4 AS n, id / 8D AS f, id = 1 AS b,
    CASE id WHEN 0 THEN 'a/b c%20=:' WHEN 1 THEN 'größe ☃ 𝒳' WHEN 2 THEN NULL ELSE '' END AS s FROM range(0, 4)"""
METADATA = "SELECT _metadata.file_name AS n, _metadata.file_size AS s, count(*) AS c FROM {files} AS t GROUP BY ALL"

CASES = [
    # Calendars.
    Case("P01 days of a legacy file", spark_sql(OLD_DAYS, **rebase("LEGACY")), DAYS),
    Case("P01 filter on a legacy file", spark_sql("SELECT DATE'1000-01-01' AS d", **rebase("LEGACY")),
         "SELECT datediff(d, DATE'1970-01-01') AS n FROM t WHERE d = DATE'1000-01-01'"),
    Case("days of a corrected file", spark_sql(OLD_DAYS, **rebase("CORRECTED")), DAYS),
    Case("legacy days as timestamps", spark_sql("SELECT DATE'1000-01-01' AS d", **rebase("LEGACY")), "SELECT CAST(d AS DATE) = DATE'1000-01-01' AS e FROM t",
         schema="d TIMESTAMP_NTZ"),
    *[Case(f"times of a legacy file, {name}", spark_sql(OLD_TIMES, **rebase("LEGACY"), **kind), TIMES)
      for name, kind in (("micros", {}), ("millis", MILLIS), ("INT96", INT96))],
    Case("times of a corrected file, INT96", spark_sql(OLD_TIMES, **rebase("CORRECTED"), **INT96), TIMES),
    Case("times of a legacy file in a zone with old offsets", spark_sql(OLD_TIMES, spark__sql__session__timeZone="America/Los_Angeles", **rebase("LEGACY")),
         TIMES, fails="in the time zone America/Los_Angeles"),
    *[Case(f"another writer, {mode}, {column}", ANCIENT, query, settings=reading(mode), fails=fails)
      for mode in ("CORRECTED", "LEGACY", "EXCEPTION")
      for column, query, fails in (("days", "SELECT datediff(d, DATE'1970-01-01') AS n FROM t", ""),
                                   ("times", "SELECT t FROM t", "in the time zone of its writer" if mode == "LEGACY" else ""))],
    Case("another writer, mode of the read", ANCIENT, "SELECT datediff(d, DATE'1970-01-01') AS n FROM t", options={"datetimeRebaseMode": "LEGACY"}),
    Case("another writer, INT96, EXCEPTION", arrow({"t": pa.array([-30609835200000000], pa.timestamp("us"))}, use_deprecated_int96_timestamps=True),
         settings=reading("EXCEPTION")),
    Case("INT96 taken for local time", spark_sql("SELECT TIMESTAMP'2020-01-01 00:00:00' AS t", **INT96),
         settings={"spark.sql.parquet.int96TimestampConversion": "true"}, refused="Scan parquet"),
    Case("P03 INT96 far away", spark_sql("SELECT TIMESTAMP'3332-12-14 11:33:10.965' AS t, array(TIMESTAMP'9998-12-31 23:59:59.999999') AS a UNION ALL "
                                         "SELECT TIMESTAMP'0002-01-01 00:00:00', NULL", **INT96), "SELECT * FROM t"),
    Case("INT96 without a zone", spark_sql("SELECT TIMESTAMP'3332-12-14 11:33:10.965' AS t", **INT96), schema="t TIMESTAMP_NTZ"),
    # Types.
    Case("P13 every type that is read as another", arrow(ALL), schema=ALL_SCHEMA),
    Case("the same without dictionaries", arrow(ALL, use_dictionary=False, data_page_version="2.0", compression="zstd"), schema=ALL_SCHEMA),
    Case("decimals as integers", arrow(DECIMALS, store_decimal_as_integer=True), schema=DECIMALS_SCHEMA),
    Case("decimals of a legacy Spark", spark_sql("SELECT CAST(id / 4 AS DECIMAL(5,2)) AS a, CAST(id / 4 AS DECIMAL(15,2)) AS b, array(CAST(id AS INT)) AS c, "
                                                 "map('k', id) AS m FROM range(0, 9)", spark__sql__parquet__writeLegacyFormat="true"),
         schema="a DECIMAL(7,4), b DECIMAL(20,2), c ARRAY<BIGINT>, m MAP<STRING, BIGINT>"),
    Case("inferred types", arrow({c: NUMBERS[c] for c in NUMBERS if c not in ("ns", "t64", "nil")})),
    Case("encodings", arrow({"a": pa.array(range(3000)), "b": pa.array([f"x{i:09}" for i in range(3000)])},
                            use_dictionary=False, compression="gzip", row_group_size=700,
                            column_encoding={"a": "DELTA_BINARY_PACKED", "b": "DELTA_BYTE_ARRAY"}),
         "SELECT sum(a) AS a, max(b) AS b, count(*) AS n FROM t"),
    *[mismatch(*pair.split(" as ")) for pair in ("i64 as int", "s as int", "dec5 as decimal(5,3)", "i32 as decimal(9,2)", "ms as date", "i32 as boolean", "fsb as string",
                                                 "ns as timestamp", "f32 as decimal(10,2)", "i32 as string", "u8 as decimal(10,0)", "nil as string")],
    Case("unsigned as signed of the same width", arrow({"c": NUMBERS["u32"]}, use_dictionary=False), schema="c INT", fails="is INT32, which is not read as int"),
    Case("P16 mismatch in a part", arrow({"s": pa.array([{"x": "a"}])}), schema="s STRUCT<x: INT>"),
    Case("a struct as a number", arrow({"s": pa.array([{"x": 1}])}), schema="s INT"),
    Case("a number as a struct", arrow({"s": pa.array([1])}), schema="s STRUCT<x: INT>"),
    Case("mismatch in a file without rows", arrow({"c": pa.array([], pa.string())}), schema="c INT"),
    Case("text that is no UTF-8", spark_sql("SELECT CAST(X'61C1' AS STRING) AS s, 1 AS i"), "SELECT i, length(s) AS b FROM t", fails="columns [s]"),
    Case("other columns of such a file", spark_sql("SELECT CAST(X'61C1' AS STRING) AS s, 1 AS i"), "SELECT i FROM t"),
    Case("binary column as text", arrow({"s": pa.array([b"a\xc1"])}), "SELECT length(s) AS b FROM t", schema="s STRING", fails="columns [s]"),
    # Names and ids.
    Case("P09 case of names", spark_sql("SELECT CAST(id AS INT) AS a FROM range(10)"), "SELECT A FROM t WHERE A > 5", schema="A INT"),
    Case("case of names counts", spark_sql("SELECT CAST(id AS INT) AS a FROM range(10)"), schema="A INT", settings={"spark.sql.caseSensitive": "true"}),
    Case("ambiguous name", arrow({"a": pa.array([1]), "A": pa.array([2]), "b": pa.array([3])}), schema="a BIGINT, b BIGINT"),
    Case("ambiguous name that is not read", arrow({"a": pa.array([1]), "A": pa.array([2]), "b": pa.array([3])}), "SELECT b FROM t", schema="a BIGINT, b BIGINT"),
    Case("both names where case counts", arrow({"a": pa.array([1]), "A": pa.array([2])}), schema="A BIGINT, a BIGINT", settings={"spark.sql.caseSensitive": "true"}),
    Case("P07 ambiguous part", arrow({"s": pa.array([{"ID": 1, "id": 2}])}), schema="s STRUCT<id: BIGINT>"),
    Case("names beyond ASCII", spark_sql("SELECT 1 AS `größe`, 2 AS `a.b`, 3 AS `c d`"), refused="größe"),
    Case("names beyond ASCII where case counts", spark_sql("SELECT 1 AS `größe`, 2 AS `a.b`, 3 AS `c d`"), settings={"spark.sql.caseSensitive": "true"}),
    *[Case(f"P06 field ids, {name}", arrow([pa.array([20]), pa.array([10]), pa.array([30]), pa.array([{"p": 1, "q": 2}])], pa.schema([
        with_id("a", pa.int64(), 2), with_id("b", pa.int64(), 1), pa.field("c", pa.int64()), pa.field("s", pa.struct([with_id("p", pa.int64(), 5), with_id("q", pa.int64(), 6)]))])),
           schema=id_schema(("a", "long", 1), ("x", "long", 7), ("C", "long", None), ("s", {"type": "struct", "fields": [
               {"name": "q", "type": "long", "nullable": True, "metadata": {"parquet.field.id": 5}}]}, None)), settings={"spark.sql.parquet.fieldId.read.enabled": enabled})
      for name, enabled in (("read", "true"), ("not read", "false"))],
    Case("field id twice", arrow([pa.array([20]), pa.array([10])], pa.schema([with_id("a", pa.int64(), 1), with_id("b", pa.int64(), 1)])),
         schema=id_schema(("a", "long", 1)), settings={"spark.sql.parquet.fieldId.read.enabled": "true"}),
    *[Case(f"file without field ids, read {enabled}, ignored {ignored}", arrow({"a": pa.array([20])}), schema=id_schema(("a", "long", 1)),
           settings={"spark.sql.parquet.fieldId.read.enabled": enabled, "spark.sql.parquet.fieldId.read.ignoreMissing": ignored})
      for enabled, ignored in (("true", "false"), ("false", "false"), ("true", "true"))],
    # Parts and evolution.
    *[Case(f"P10 a struct whose parts are all missing, null struct {null}",
           spark_sql("SELECT id, IF(id = 1, NULL, named_struct('a', id)) AS s, array(named_struct('a', id), NULL) AS l, map('k', named_struct('a', id)) AS m FROM range(3)"),
           schema="id BIGINT, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>",
           settings={"spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": null}) for null in ("false", "true")],
    Case("parts added, dropped, moved and widened", both(
        spark_sql("SELECT id, named_struct('a', CAST(id AS INT), 'b', named_struct('x', CAST(id AS FLOAT), 'y', 'y')) AS s, array(named_struct('p', 1, 'q', 'q')) AS l FROM range(3)"),
        spark_sql("SELECT id, named_struct('b', named_struct('z', id, 'x', 2.5D), 'a', id) AS s, array(named_struct('q', 'q', 'r', id)) AS l FROM range(3)")),
        schema="id BIGINT, s STRUCT<b: STRUCT<x: DOUBLE, z: BIGINT>, a: BIGINT, n: STRING>, l ARRAY<STRUCT<r: BIGINT, p: BIGINT>>"),
    Case("a part of a part that is missing", spark_sql("SELECT id, named_struct('a', id, 'b', IF(id = 1, NULL, named_struct('x', id))) AS s FROM range(3)"),
         schema="s STRUCT<a: BIGINT, b: STRUCT<z: INT>>"),
    Case("one part of many", spark_sql("SELECT id, named_struct('a', id, 'b', array(named_struct('c', id, 'd', 'd'))) AS s FROM range(3)"),
         schema="s STRUCT<b: ARRAY<STRUCT<c: BIGINT>>>"),
    Case("missing columns", both(spark_sql("SELECT id AS a FROM range(2)"), spark_sql("SELECT id AS b FROM range(2)")),
         "SELECT *, a IS NULL AS n FROM t WHERE a IS NULL OR b = 1", schema="a BIGINT, b BIGINT, c STRING"),
    Case("defaults of missing columns", with_defaults, "SELECT * FROM with_defaults"),
    Case("filter on a default", with_defaults, "SELECT a FROM with_defaults WHERE b = 42 AND c = 'x'"),
    Case("merged schemas", both(spark_sql("SELECT id AS a FROM range(2)"), spark_sql("SELECT 'x' AS b FROM range(2)")), options={"mergeSchema": "true"}),
    Case("P04 equal names of parts", arrow([pa.StructArray.from_arrays([pa.array([1, 2, 3]), pa.array([4, 5, 6])], names=["dup", "dup"])],
                                           pa.schema([("s", pa.struct([("dup", pa.int64()), ("dup", pa.int64())]))])),
         schema="s STRUCT<dup: BIGINT, dup: BIGINT>", settings={"spark.sql.caseSensitive": "true"}),
    # Splits and pruning.
    Case("P12 splits", spark_sql(ROWS, options=SMALL_GROUPS), "SELECT count(*) AS n, sum(id) AS s, count(DISTINCT id) AS d FROM t", settings=SMALL_SPLITS),
    Case("P12 splits without columns", spark_sql(ROWS, options=SMALL_GROUPS), "SELECT count(*) AS n FROM t", settings=SMALL_SPLITS),
    Case("P12 splits of one row group", spark_sql(ROWS), "SELECT count(*) AS n, sum(id) AS s FROM t", settings=SMALL_SPLITS),
    Case("P15 small pages", spark_sql("SELECT id % 3 AS k, id AS v FROM range(0, 3000)", options=SMALL_GROUPS), "SELECT k, sum(v) AS s, count(*) AS n FROM t WHERE v > 17 GROUP BY k",
         settings={"spark.sql.parquet.aggregatePushdown": "true"}),
    Case("pages", spark_sql("SELECT id, CAST(id AS STRING) AS s, IF(id % 100 = 0, NULL, id) AS o FROM range(0, 5000)", options=SMALL_GROUPS),
         "SELECT count(*) AS n, min(id) AS a, max(s) AS b FROM t WHERE id BETWEEN 1234 AND 3456 AND s > '2' AND (o IS NULL OR o % 7 = 0)"),
    Case("statistics of NaN and zeros", spark_sql("SELECT * FROM VALUES (double('NaN'), float('-0.0')), (1.0D, float('0.0')), (-1.0D, NULL) AS v(x, z)"),
         "SELECT count(*) FILTER (WHERE x > 5) AS a, count(*) AS n FROM t WHERE x > 5 OR z = float('0.0') OR z < float('-0.5')"),
    Case("NaN is above all", spark_sql("SELECT * FROM VALUES (double('NaN')), (1.0D) AS v(x)"), "SELECT count(*) AS n FROM t WHERE x > 1.0D"),
    Case("minus zero is zero", spark_sql("SELECT double('-0.0') AS x"), "SELECT count(*) AS n FROM t WHERE x >= 0.0D AND x <= 0.0D"),
    Case("long texts", spark_sql("SELECT repeat(x, 300) || y AS s FROM VALUES ('é', 'a'), ('é', 'b'), ('\U0010ffff', 'z') AS v(x, y)"),
         "SELECT length(s) AS n FROM t WHERE s > repeat('é', 300) || 'a' OR s = repeat('\U0010ffff', 300) || 'z'"),
    Case("Bloom filters", spark_sql("SELECT CAST(id * 7 AS INT) AS i, id * 7 AS l, CAST(id * 7 AS STRING) AS s, CAST(id * 7 AS DECIMAL(9,2)) AS d, CAST(id * 7 AS DECIMAL(30,2)) AS e, "
                                    "date_add(DATE'2000-01-01', CAST(id * 7 AS INT)) AS day FROM range(0, 500)",
                                    options={f"parquet.bloom.filter.enabled#{c}": "true" for c in ("i", "l", "s", "d", "e", "day")}),
         "SELECT count(*) AS n FROM t WHERE i = 70 OR l IN (77, 78) OR s = '84' OR d = 91 OR e = 98.00 OR day = DATE'2000-04-15' OR i = 71"),
    *[Case(f"Bloom filter of {column}", spark_sql("SELECT CAST(id * 7 AS INT) AS i, CAST(id * 7 AS STRING) AS s, CAST(id * 7 AS DECIMAL(9,2)) AS d, CAST(id * 7 AS DECIMAL(30,2)) AS e "
                                                  "FROM range(0, 500)", options={f"parquet.bloom.filter.enabled#{column}": "true"}),
           f"SELECT count(*) AS n FROM t WHERE {column} = {value}", schema=f"{column} {kind}")
      for column, value, kind in (("i", "70", "BIGINT"), ("s", "'84'", "STRING"), ("d", "91", "DECIMAL(12,4)"), ("e", "98", "DECIMAL(30,2)"))],
    Case("filters by widened columns", spark_sql("SELECT CAST(id AS INT) AS i, CAST(id / 4 AS DECIMAL(5,2)) AS d, date_add(DATE'2000-01-01', CAST(id AS INT)) AS day FROM range(0, 300)"),
         "SELECT count(*) AS n FROM t WHERE i > 250 AND d < 74.9999 AND day >= TIMESTAMP_NTZ'2000-09-10 00:00:00'", schema="i DECIMAL(12,1), d DECIMAL(9,4), day TIMESTAMP_NTZ"),
    # Partition values and constants of files.
    Case("partition values", spark_sql(PARTITIONS, ("i", "l", "d", "t", "n", "f", "b", "s"))),
    Case("partition values of given types", spark_sql(PARTITIONS, ("i", "l", "d", "t", "n", "f", "b", "s")), "SELECT * FROM t WHERE s IS NULL OR i > 0",
         schema="id BIGINT, i SMALLINT, l BIGINT, d DATE, t TIMESTAMP, n DECIMAL(10,2), f DOUBLE, b STRING, s STRING"),
    Case("partition values as text", spark_sql(PARTITIONS, ("i", "d", "t", "s")), settings={"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}),
    Case("constants of files", both(spark_sql("SELECT id FROM range(3)"), spark_sql("SELECT id FROM range(5)")), METADATA, refused="named_struct"),
    Case("constants of splits", spark_sql(ROWS, options=SMALL_GROUPS), METADATA.replace("count(*)", "sum(id)"), settings=SMALL_SPLITS, refused="named_struct"),
    Case("ranges of splits", spark_sql("SELECT id FROM range(3)"), "SELECT id, _metadata.file_block_start AS b FROM {files} AS t", refused="file_block_start"),
    Case("path of a file", spark_sql("SELECT 1 AS id, 'ä b%' AS p", ("p",)), "SELECT _metadata.file_path AS f, id FROM {files} AS t WHERE p = 'ä b%'", refused="named_struct"),
    Case("row index", spark_sql("SELECT id FROM range(3)"), "SELECT id, _metadata.row_index AS r FROM {files} AS t", refused="metadata_row_index"),
    Case("name of the input", spark_sql("SELECT id FROM range(3)"), "SELECT id, input_file_name() AS f FROM t", refused="input_file_name"),
    Case("corrupt files ignored", spark_sql("SELECT id FROM range(3)"), settings={"spark.sql.files.ignoreCorruptFiles": "true"}, refused="ignoreCorruptFiles"),
    Case("no files", spark_sql("SELECT id FROM range(0)"), "SELECT count(*) AS n, sum(id) AS s FROM t", schema="id BIGINT"),
]
