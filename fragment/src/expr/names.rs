use cne_proto::spark_expression::agg_expr;
use cne_proto::spark_expression::expr::ExprStruct;

use crate::error::Issue;

/// Why an expression that has no implementation here is refused.
pub(super) fn refuse_expr(expr: &ExprStruct) -> Issue {
    use ExprStruct as E;
    let none = "there is no exact implementation of it";
    match expr {
        E::JvmScalarUdf(e) => Issue::new(
            format!("jvm_scalar_udf {}", e.class_name),
            "it calls back into a JVM, and executors have none",
        )
        .hint("set spark.comet.exec.scalaUDF.codegen.enabled=false to see the expression, then rewrite it with built-in functions"),
        E::NativeScalarUdf(e) => {
            Issue::new(format!("native_scalar_udf {}", e.name), "executors load no libraries that a plan names")
                .hint("rewrite it with built-in functions")
        }
        E::Subquery(_) => Issue::new("scalar subquery", "the driver has to put its value in before it sends the plan")
            .hint("use the driver jar of this release"),
        E::Rand(_) => random("rand"),
        E::Randn(_) => random("randn"),
        E::RandStr(_) => random("randstr"),
        E::Uuid(_) => random("uuid"),
        E::Shuffle(_) => random("shuffle"),
        E::MonotonicallyIncreasingId(_) => random("monotonically_increasing_id"),
        E::Rlike(_) => Issue::new("RLIKE", none).hint("use LIKE, startswith, endswith or contains"),
        other => Issue::new(name(other), none),
    }
}

fn random(what: &str) -> Issue {
    Issue::new(
        what,
        "its values depend on the order of rows, which a retried task does not repeat",
    )
    .hint("compute it before, and store the result")
}

fn name(expr: &ExprStruct) -> &'static str {
    use ExprStruct as E;
    match expr {
        E::SortOrder(_) => "sort order",
        E::Unbound(_) => "unbound reference",
        E::BloomFilterMightContain(_) => "bloom_filter_might_contain",
        E::CreateNamedStruct(_) => "named_struct",
        E::GetStructField(_) => "get_struct_field",
        E::ToJson(_) => "to_json",
        E::ListExtract(_) => "element_at",
        E::GetArrayStructFields(_) => "get_array_struct_fields",
        E::ArrayInsert(_) => "array_insert",
        E::FromJson(_) => "from_json",
        E::ToCsv(_) => "to_csv",
        E::HoursTransform(_) => "hours",
        E::ArraysZip(_) => "arrays_zip",
        E::AtLeastNNonNulls(_) => "at_least_n_non_nulls",
        _ => "expression",
    }
}

/// The Spark name of an aggregate function.
pub(super) fn aggregate_name(aggregate: &agg_expr::ExprStruct) -> &'static str {
    use agg_expr::ExprStruct as A;
    match aggregate {
        A::Count(_) => "count",
        A::Sum(_) => "sum",
        A::Min(_) => "min",
        A::Max(_) => "max",
        A::Avg(_) => "avg",
        A::First(_) => "first",
        A::Last(_) => "last",
        A::BitAndAgg(_) => "bit_and",
        A::BitOrAgg(_) => "bit_or",
        A::BitXorAgg(_) => "bit_xor",
        A::Covariance(_) => "covar",
        A::Variance(_) => "variance",
        A::Stddev(_) => "stddev",
        A::Correlation(_) => "corr",
        A::BloomFilterAgg(_) => "bloom_filter_agg",
        A::CollectSet(_) => "collect_set",
        A::Percentile(_) => "percentile",
        A::ApproxPercentile(_) => "approx_percentile",
        A::Hllpp(_) => "approx_count_distinct",
        A::CollectList(_) => "collect_list",
        A::Regr(_) => "regr",
        A::Mode(_) => "mode",
        A::MaxBy(_) => "max_by",
        A::MinBy(_) => "min_by",
        A::ListAgg(_) => "listagg",
        A::HllSketchAgg(_) => "hll_sketch_agg",
        A::HllUnionAgg(_) => "hll_union_agg",
        A::PivotFirst(_) => "pivot_first",
    }
}
