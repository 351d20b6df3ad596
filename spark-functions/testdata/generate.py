"""Dumps plain Spark's answers for the unit tests of cne-spark-functions: python generate.py golden.json"""
import datetime, decimal, json, re, sys
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "1").config("spark.sql.session.timeZone", "UTC")
         .config("spark.sql.optimizer.excludedRules", "org.apache.spark.sql.catalyst.optimizer.ConstantFolding").getOrCreate())
spark.sparkContext.setLogLevel("OFF")

def lit(t, v):
    if v is None: return f"CAST(NULL AS {t})"
    if t == "STRING": return "'" + "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or c in "\\'" else c for c in v) + "'"
    return f"CAST('{v}' AS {t})"

def show(v):
    if v is None or isinstance(v, str): return v
    if isinstance(v, bool): return "true" if v else "false"
    if isinstance(v, float): return repr(v)
    if isinstance(v, decimal.Decimal): return format(v, "f")
    if isinstance(v, (datetime.date, datetime.datetime)): return str(v)
    return str(v)

out = []
def run(group, sql, **fields):
    for ansi in (True, False):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        case = dict(group=group, ansi=ansi, **fields)
        try:
            frame = spark.sql("SELECT " + sql + " AS r")
            case["type"] = frame.schema["r"].dataType.simpleString()
            case["value"] = show(frame.collect()[0][0])
        except Exception as e:
            case["error"] = e.getCondition() if hasattr(e, "getCondition") else type(e).__name__
            case["message"] = str(e).split("SQLSTATE")[0].strip()
        out.append(case)

D = "DECIMAL(%d,%d)"
casts = {
    "STRING": (["", " 12 ", "\t-7\n", "+5", "12.9", "-0", "1e3", ".5", "5.", ".", "-", "abc", "2147483648", "-2147483648", "9223372036854775808",
                "128", "1.5E-2", "NaN", "-inf", "Infinity", "1d", "1.0f", "12345678901234567890123456789012345678901", "0.000000000000000000000000000000000000009",
                "true", " T ", "no", "0", "yEs", "\x01true", "2020-1-1", "2020", "2020-02-30", " 2020-12-31 ", "2020-01-01T12", "2020-01-01 foo",
                "-0001-01-01", "10000-01-01", "2020-1-", "0x1p3", "1 2", "1_0", "１２", None],
               ["TINYINT", "INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(10,2)", "DECIMAL(38,18)", "DECIMAL(38,38)", "BOOLEAN", "DATE"]),
    "INT": (["0", "7", "-2147483648", "2147483647", "300", "-129", None], ["TINYINT", "SMALLINT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "STRING", "DECIMAL(10,0)", "DECIMAL(5,2)", "DECIMAL(3,0)"]),
    "BIGINT": (["0", "-9223372036854775808", "9223372036854775807", "4294967296"], ["TINYINT", "INT", "FLOAT", "DOUBLE", "BOOLEAN", "STRING", "DECIMAL(38,19)", "DECIMAL(20,0)", "DECIMAL(38,20)"]),
    "TINYINT": (["-128", "127", "1"], ["INT", "DECIMAL(3,0)", "DECIMAL(4,2)", "STRING", "BOOLEAN"]),
    "BOOLEAN": (["true", "false"], ["INT", "BIGINT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(1,1)", "STRING", "TINYINT"]),
    "DOUBLE": (["0.0", "-0.0", "1.5", "2.5", "-1.5", "0.1", "1e7", "1.0E-3", "9.999e-4", "123456.789", "1e22", "1e23", "4.9E-324", "1.7976931348623157E308", "NaN", "Infinity", "-Infinity",
                "2147483647.5", "2147483648", "-2147483649", "9.223372036854775807E18", "300.7", "1.005", "0.125", "2.675", "99999999.995", "12345.6789", "1.0E16", "9007199254740993", "2.2250738585072014E-308", "1.2345678901234567E-5"],
               ["TINYINT", "INT", "BIGINT", "FLOAT", "BOOLEAN", "STRING", "DECIMAL(10,2)", "DECIMAL(38,18)", "DECIMAL(5,2)"]),
    "FLOAT": (["0.1", "-0.0", "1.5", "3.4028235E38", "1.4E-45", "16777216", "123456.79", "NaN", "-Infinity", "2147483648", "1.0E7", "0.001", "33554432", "1.17549435E-38", "9.9999999E8"],
              ["INT", "BIGINT", "DOUBLE", "STRING", "DECIMAL(10,2)", "DECIMAL(38,10)", "SMALLINT"]),
    "DECIMAL(10,2)": (["0.00", "1.50", "-1.50", "2.55", "99999999.99", "-0.01", "127.99", "128.00"], ["TINYINT", "INT", "BIGINT", "DOUBLE", "FLOAT", "BOOLEAN", "STRING", "DECIMAL(10,1)", "DECIMAL(5,2)", "DECIMAL(12,4)", "DECIMAL(3,0)"]),
    "DECIMAL(38,18)": (["0", "12345.6789", "123456.789012", "76543.21", "-0.000000000000000001", "99999999999999999999.999999999999999999", "9223372036854775808", "2147483648.9", "0.5", "1.5"],
                       ["INT", "BIGINT", "DOUBLE", "FLOAT", "STRING", "DECIMAL(38,0)", "DECIMAL(38,20)", "DECIMAL(10,2)"]),
    "DATE": (["2020-01-01", "0001-01-01", "9999-12-31", "1969-12-31", "-0005-03-04", "12345-06-07"], ["STRING"]),
}
for f, (values, targets) in casts.items():
    for v in values:
        for t in targets:
            run("cast", f"CAST({lit(f, v)} AS {t})", **{"from": f, "to": t, "in": v})

pairs = {
    "INT": ["0", "1", "-1", "7", "-7", "3", "2147483647", "-2147483648", None],
    "BIGINT": ["0", "-1", "7", "9223372036854775807", "-9223372036854775808"],
    "DOUBLE": ["0.0", "-0.0", "1.5", "NaN", "Infinity"],
}
for t, values in pairs.items():
    for op in ["+", "-", "*", "/", "%", "div"]:
        if op == "/" and t != "DOUBLE" or op == "div" and t == "DOUBLE": continue
        for a in values:
            for b in values:
                run("binary", f"{lit(t, a)} {op} {lit(t, b)}", op=op, left=t, right=t, a=a, b=b)
small = {"TINYINT": ["127", "-128", "-1", "0"], "SMALLINT": ["32767", "-32768", "-1"]}
for t, values in small.items():
    for op in ["+", "-", "*", "%", "div"]:
        for a in values:
            for b in values:
                run("binary", f"{lit(t, a)} {op} {lit(t, b)}", op=op, left=t, right=t, a=a, b=b)
decs = [("DECIMAL(12,2)", "DECIMAL(12,2)", [("1.25", "0.08"), ("9999999999.99", "9999999999.99"), ("-1.00", "3.00"), ("0.00", "0.00"), ("-7.50", "2.20")]),
        ("DECIMAL(38,18)", "DECIMAL(38,18)", [("1.5", "2.5"), ("99999999999999999999", "99999999999999999999"), ("1", "3"), ("2", "3"), ("-2", "3"), ("99999999999999999999", "0.000000000000000001"), ("1", "0"), ("1.000000000000000005", "0.1")]),
        ("DECIMAL(38,0)", "DECIMAL(38,0)", [("99999999999999999999999999999999999999", "1"), ("11000000000000000000", "11000000000000000000"), ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999")]),
        ("DECIMAL(38,38)", "DECIMAL(38,38)", [("0.6", "0.6"), ("0.00000000000000000000000000000000000002", "0.3"), ("0.5", "0.00000000000000000000000000000000000003")]),
        ("DECIMAL(20,0)", "DECIMAL(20,0)", [("11000000000000000000", "11000000000000000000")]),
        ("DECIMAL(38,38)", "DECIMAL(1,0)", [("0.00000000000000000000000000000000000002", "3"), ("0.00000000000000000000000000000000000001", "6"), ("0.00000000000000000000000000000000000003", "2")]),
        ("DECIMAL(38,10)", "DECIMAL(38,30)", [("1.23", "4.56"), ("9999999999999999999999999999", "0.000000000000000000000000000001"), ("10", "3")]),
        ("DECIMAL(5,2)", "DECIMAL(38,30)", [("999.99", "99999999.999999999999999999999999999999"), ("1.10", "0.3")])]
for l, r, values in decs:
    for op in ["+", "-", "*", "/", "%", "div"]:
        for a, b in values:
            run("binary", f"{lit(l, a)} {op} {lit(r, b)}", op=op, left=l, right=r, a=a, b=b)
for t, v in [("INT", "-2147483648"), ("INT", "5"), ("BIGINT", "-9223372036854775808"), ("TINYINT", "-128"), ("SMALLINT", "-32768"), ("DOUBLE", "0.0"), ("DECIMAL(38,0)", "5")]:
    run("unary", f"-({lit(t, v)})", op="-", left=t, a=v)
    run("unary", f"abs({lit(t, v)})", op="abs", left=t, a=v)
    for op in ("ceil", "floor"):
        if t not in ("TINYINT", "SMALLINT"): run("unary", f"{op}({lit(t, v)})", op=op, left=t, a=v)
for t, v in [("DECIMAL(10,2)", "1.50"), ("DECIMAL(10,2)", "-1.50"), ("DECIMAL(10,2)", "-0.01"), ("DECIMAL(3,3)", "0.999"), ("DECIMAL(38,0)", "-9"), ("DOUBLE", "1.5"), ("DOUBLE", "-0.5"), ("DOUBLE", "1e30"), ("DOUBLE", "NaN")]:
    for op in ("ceil", "floor", "abs"):
        run("unary", f"{op}({lit(t, v)})", op=op, left=t, a=v)
for t, v, s in [("INT", "2147483647", -1), ("INT", "25", -1), ("INT", "-25", -1), ("INT", "-2147483648", -1), ("INT", "14", -1), ("INT", "7", 2), ("INT", "2147483647", -10), ("BIGINT", "5000000000000000000", -19), ("BIGINT", "4999999999999999999", -19),
                ("BIGINT", "9223372036854775807", -2), ("BIGINT", "150", -2), ("TINYINT", "127", -1), ("TINYINT", "125", -1), ("SMALLINT", "32767", -2),
                ("DECIMAL(10,2)", "2.55", 1), ("DECIMAL(10,2)", "-2.55", 1), ("DECIMAL(10,2)", "2.55", 5), ("DECIMAL(10,2)", "155.55", -1), ("DECIMAL(10,2)", "99999999.99", 0), ("DECIMAL(38,18)", "99999999999999999999.999999999999999999", 0), ("DECIMAL(4,2)", "99.99", -2), ("DECIMAL(4,2)", "49.99", -3)]:
    run("round", f"round({lit(t, v)}, {s})", left=t, a=v, scale=s)
hashes = {"INT": ["0", "1", "-1", "2147483647"], "BIGINT": ["0", "1", "-1", "9223372036854775807"], "TINYINT": ["-5"], "SMALLINT": ["300"], "BOOLEAN": ["true", "false"],
          "FLOAT": ["0.0", "-0.0", "1.5", "NaN"], "DOUBLE": ["0.0", "-0.0", "1.5", "NaN", "-Infinity"], "DATE": ["2020-01-01", "1969-12-31"],
          "TIMESTAMP": ["2020-01-01 00:00:00"], "STRING": ["", "a", "ab", "abc", "abcd", "abcde", "héllo wörld", "日本語", "x" * 37],
          "DECIMAL(18,2)": ["1.23", "-1.23", "0.00"], "DECIMAL(38,0)": ["0", "1", "-1", "127", "128", "-128", "-129", "255", "123456789012345678901234567890", "-99999999999999999999999999999999999999"], "BINARY": ["abc"]}
for t, values in hashes.items():
    for v in values + [None]:
        run("hash", f"hash({lit(t, v)})", left=t, a=v)
run("hash", "hash(1, 'abc', CAST(NULL AS INT), CAST(2.50 AS DECIMAL(10,2)))", left="MULTI", a=None)
for s in ["abc", "日本語x", "", None]:
    for p in (-10, -3, -2, -1, 0, 1, 2, 3, 4, 10, 2147483647, -2147483648):
        for n in (-1, 0, 1, 2, 3, 2147483647):
            run("substring", f"substring({lit('STRING', s)}, {p}, {n})", a=s, pos=p, len=n)
for s, p in [("abc", "a%"), ("abc", "a_c"), ("abc", "A%"), ("a%c", "a\\%c"), ("abc", "a\\%c"), ("a_c", "a\\_c"), ("a\\c", "a\\\\c"), ("abc", "a\\bc"), ("abc", "abc\\"), ("", "%"), ("", ""), ("", "_"), ("a\nb", "a%b"), ("a\nb", "a_b"),
             ("日本", "_本"), ("日本", "__"), ("a.c", "a.c"), ("abc", "a.c"), ("abc", "%b%"), ("abc", "%%"), ("aXbXc", "a%b%c"), ("\\", "\\\\"), ("%", "\\%"), (None, "%"), ("a", None), ("(a)", "(a)"), ("abc", "%c"), ("abcabc", "%bc")]:
    run("like", f"{lit('STRING', s)} LIKE {lit('STRING', p)}", a=s, b=p)
for s in ["  a b ", "\ta ", "", "\u00a0x", "xxaxx", "İıß", "ǅ straße ΑΣ", "éÀ"]:
    for op in ("trim", "ltrim", "rtrim", "upper", "lower", "length"):
        run("string", f"{op}({lit('STRING', s)})", op=op, a=s)
for d in ["2020-01-01", "2020-12-31", "2024-02-29", "1969-12-31", "2021-01-03", "1900-03-01", "0001-01-01", "1582-10-14"]:
    for part in ("year", "quarter", "month", "week", "day", "doy", "dow", "dow_iso"):
        run("datepart", f"extract({part} FROM DATE'{d}')", a=d, part=part)
    run("datepart", f"last_day(DATE'{d}')", a=d, part="last_day")
    run("datepart", f"date_add(DATE'{d}', 45)", a=d, part="add45")
    run("datepart", f"datediff(DATE'{d}', DATE'2020-02-02')", a=d, part="diff")
    run("datepart", f"date_add(DATE'{d}', 2147483647)", a=d, part="addmax")
for a, b in [("NaN", "NaN"), ("0.0", "-0.0"), ("NaN", "Infinity"), ("1.0", "NaN")]:
    for op in ("=", "<", "<=>", ">=", "<>" ):
        run("compare", f"{lit('DOUBLE', a)} {op} {lit('DOUBLE', b)}", op=op, a=a, b=b)
aggs = [("sum", "DECIMAL(38,38)", ["0.6", "0.6", "-0.6"]), ("sum", "DECIMAL(38,0)", ["9" * 38, "1"]), ("sum", "INT", ["2147483647", "1", None]), ("sum", "BIGINT", ["9223372036854775807", "1"]), ("sum", "BIGINT", []), ("sum", "DECIMAL(10,2)", ["1.25", None, "2.50"]), ("sum", "DECIMAL(10,2)", [None]),
        ("avg", "DECIMAL(10,2)", ["1.25", "2.50", None]), ("avg", "DECIMAL(12,2)", ["0.01", "0.01", "0.02"]), ("avg", "DECIMAL(38,18)", ["1", "2", "2"]), ("avg", "DECIMAL(38,38)", ["0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001", "0"]), ("avg", "INT", ["1", "2"]), ("avg", "DECIMAL(38,0)", ["9" * 38, "9" * 38]),
        ("stddev_samp", "DOUBLE", ["1e16", "10000000000000002"]), ("var_pop", "DOUBLE", ["1e16", "10000000000000002"]), ("stddev_pop", "DOUBLE", ["NaN"]), ("stddev_samp", "DOUBLE", ["1"]), ("var_samp", "DOUBLE", ["1", "2", "4"]),
        ("min", "DOUBLE", ["NaN", "1", "-0.0"]), ("max", "DOUBLE", ["NaN", "1"]), ("max", "FLOAT", ["0.0", "-0.0"]), ("min", "DOUBLE", ["NaN"]), ("first", "INT", [None, "1"]), ("last", "INT", ["1", None])]
for f, t, values in aggs:
    rows = " UNION ALL ".join(f"SELECT {lit(t, v)} AS v" for v in values) or f"SELECT {lit(t, None)} AS v WHERE false"
    run("agg", f"(SELECT {f}(v) FROM ({rows}))", op=f, left=t, values=values)
# One row per case: group, arguments, type, answer with ANSI, answer without. An answer is a text, null, or [error class].
def answer(case):
    if "error" not in case: return case["value"]
    if case["error"] == "Py4JJavaError": return [re.search(r"\[([A-Z_.]+)\]", case["message"]).group(1)]
    return [case["error"]]
rows = []
for ansi, legacy in zip(out[::2], out[1::2]):
    if "ValueError" in (ansi.get("error"), legacy.get("error")) or "OverflowError" in (ansi.get("error"), legacy.get("error")): continue  # Python has no such date
    args = {k: v for k, v in ansi.items() if k not in ("group", "ansi", "value", "error", "message", "type")}
    rows.append([ansi["group"], args, ansi.get("type"), answer(ansi), answer(legacy)] + ([legacy["type"]] if legacy.get("type") != ansi.get("type") else []))
with open(sys.argv[1], "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows) + "\n]\n")
print(len(rows))
