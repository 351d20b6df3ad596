use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray, new_empty_array,
};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use arrow::util::display::array_value_to_string;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{AggregateUDF, EmitTo};
use serde_json::Value;

use super::{
    PairKind, PairOptions, VarianceKind, avg, collect_list, collect_set, count, first, last, list_agg, max,
    max_by, merge_as_partial, min, min_by, pairs, percentile, pivot_first, sum, variance,
};
use crate::golden::{Case, cases, check, column, data_type, show};
use crate::{EvalMode, find_spark_error};

fn with_args<R>(udaf: &AggregateUDF, inputs: &[DataType], f: impl FnOnce(AccumulatorArgs) -> R) -> R {
    let fields: Vec<FieldRef> = inputs
        .iter()
        .map(|kind| Arc::new(Field::new("v", kind.clone(), true)))
        .collect();
    let schema = Schema::new(fields.clone());
    let exprs: Vec<Arc<dyn datafusion::physical_expr::PhysicalExpr>> = (0..fields.len())
        .map(|i| Arc::new(datafusion::physical_expr::expressions::Column::new("v", i)) as _)
        .collect();
    f(AccumulatorArgs {
        return_field: Arc::new(Field::new("r", udaf.return_type(inputs).unwrap(), true)),
        schema: &schema,
        ignore_nulls: false,
        order_bys: &[],
        is_reversed: false,
        name: "a",
        is_distinct: false,
        exprs: &exprs,
        expr_fields: &fields,
    })
}

fn aggregate(case: &Case) -> (Arc<AggregateUDF>, DataType) {
    let input = data_type(case.text("left").unwrap());
    let result = case.kind.clone();
    let udaf = match case.text("op").unwrap() {
        "sum" => sum(&input, &result, false, case.mode, None).unwrap(),
        "avg" => {
            let sum_type = match input {
                DataType::Decimal128(p, s) => DataType::Decimal128((p + 10).min(38), s),
                _ => DataType::Float64,
            };
            avg(&input, &sum_type, &result, false, case.mode, None).unwrap()
        }
        "min" => min(&input).unwrap(),
        "max" => max(&input).unwrap(),
        "first" => first(&input, false).unwrap(),
        "last" => last(&input, false).unwrap(),
        "stddev_samp" => variance(VarianceKind::StddevSamp, true),
        "stddev_pop" => variance(VarianceKind::StddevPop, true),
        "var_pop" => variance(VarianceKind::VarPop, true),
        _ => variance(VarianceKind::VarSamp, true),
    };
    (udaf, input)
}

/// Partial over each slice, then final over the states, as separate accumulators.
fn partial_final(udaf: &AggregateUDF, input: &DataType, values: &ArrayRef, slice: usize) -> Result<ArrayRef> {
    let new = || with_args(udaf, std::slice::from_ref(input), |args| udaf.accumulator(args));
    let mut last = new()?;
    let mut start = 0;
    loop {
        let length = slice.min(values.len() - start);
        let mut partial = new()?;
        partial.update_batch(&[values.slice(start, length)])?;
        let states = partial
            .state()?
            .iter()
            .map(|state| state.to_array())
            .collect::<Result<Vec<_>>>()?;
        last.merge_batch(&states)?;
        start += length;
        if start >= values.len() {
            break;
        }
    }
    last.evaluate()?.to_array()
}

/// The same for groups, with the rows of another group between, and partial states made row by row.
fn grouped(udaf: &AggregateUDF, input: &DataType, values: &ArrayRef) -> Result<ArrayRef> {
    let new = || {
        with_args(udaf, std::slice::from_ref(input), |args| {
            udaf.create_groups_accumulator(args)
        })
    };
    let states = new()?.convert_to_state(&[Arc::clone(values)], None)?;
    let mut last = new()?;
    last.merge_batch(&states, &vec![1; values.len()], 2)?;
    drop(last.evaluate(EmitTo::First(1))?);
    last.evaluate(EmitTo::All)
}

#[test]
fn golden_aggregates() {
    let mut wrong = vec![];
    for case in cases("agg") {
        let (udaf, input) = aggregate(&case);
        let values = case.args["values"].as_array().unwrap();
        let columns: Vec<ArrayRef> = values
            .iter()
            .map(|value| column(&input, value.as_str()))
            .collect();
        let parts: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
        let values = if parts.is_empty() {
            new_empty_array(&input)
        } else {
            concat(&parts).unwrap()
        };
        // Spark had one partition per row.
        wrong.extend(check(&case, partial_final(&udaf, &input, &values, 1)));
        let moments = case.text("op").unwrap().contains('_');
        if !matches!(case.expected, Value::Array(_)) && !moments {
            wrong.extend(check(&case, partial_final(&udaf, &input, &values, 100)));
            // The recorded sums are those without groups, whose buffer may leave the type.
            if !matches!(input, DataType::Decimal128(38, _)) {
                wrong.extend(check(&case, grouped(&udaf, &input, &values)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn overflow_is_carried_by_the_buffer() {
    let input = DataType::Decimal128(38, 0);
    let nines = "9".repeat(38);
    let values = concat(&[
        column(&input, Some(&nines)).as_ref(),
        column(&input, Some(&nines)).as_ref(),
    ])
    .unwrap();
    let legacy = sum(&input, &input, false, EvalMode::Legacy, None).unwrap();
    assert_eq!(
        show(&partial_final(&legacy, &input, &values, 2).unwrap(), 0),
        None
    );
    let ansi = sum(&input, &input, false, EvalMode::Ansi, None).unwrap();
    let error = partial_final(&ansi, &input, &values, 2).unwrap_err();
    assert_eq!(
        find_spark_error(&error).unwrap().kind.error_class(),
        "ARITHMETIC_OVERFLOW"
    );
    let error = partial_final(&ansi, &input, &values, 1).unwrap_err();
    assert_eq!(
        find_spark_error(&error).unwrap().kind.error_class(),
        "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
    );
}

#[test]
fn sum_beyond_128_bits_and_back() {
    let input = DataType::Decimal128(38, 0);
    let (up, down) = ("9".repeat(38), format!("-{}", "9".repeat(38)));
    let columns: Vec<ArrayRef> = [&up, &up, &up, &down, &down]
        .iter()
        .map(|text| column(&input, Some(text.as_str())))
        .collect();
    let values = concat(&columns.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap();
    let ansi = sum(&input, &input, false, EvalMode::Ansi, None).unwrap();
    assert_eq!(
        show(&partial_final(&ansi, &input, &values, 9).unwrap(), 0),
        Some(up)
    );
}

#[test]
fn try_sum_of_integers_is_null_for_good() {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, 1, -5]));
    let udaf = sum(&DataType::Int64, &DataType::Int64, false, EvalMode::Try, None).unwrap();
    assert_eq!(
        show(&partial_final(&udaf, &DataType::Int64, &values, 9).unwrap(), 0),
        None
    );
    assert_eq!(
        show(&partial_final(&udaf, &DataType::Int64, &values, 2).unwrap(), 0),
        None
    );
}

#[test]
fn filter_is_honoured_and_running_windows_keep_their_state() {
    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 4.0]));
    let udaf = avg(
        &DataType::Float64,
        &DataType::Float64,
        &DataType::Float64,
        false,
        EvalMode::Ansi,
        None,
    )
    .unwrap();
    let filter = BooleanArray::from(vec![Some(true), None, Some(true)]);
    let mut groups = with_args(&udaf, &[DataType::Float64], |args| {
        udaf.create_groups_accumulator(args)
    })
    .unwrap();
    groups
        .update_batch(&[Arc::clone(&values)], &[0, 0, 0], Some(&filter), 1)
        .unwrap();
    assert_eq!(
        show(&groups.evaluate(EmitTo::All).unwrap(), 0),
        Some("2.5".to_owned())
    );
    let mut running = with_args(&udaf, &[DataType::Float64], |args| udaf.accumulator(args)).unwrap();
    running.update_batch(&[values.slice(0, 1)]).unwrap();
    assert_eq!(running.evaluate().unwrap().to_string(), "1");
    running.update_batch(&[values.slice(1, 1)]).unwrap();
    assert_eq!(running.evaluate().unwrap().to_string(), "1.5");
}

#[test]
fn merging_update_gives_the_states_of_the_inner_aggregate() {
    let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    for (inner, input) in [
        (
            sum(&DataType::Int32, &DataType::Int64, false, EvalMode::Ansi, None).unwrap(),
            DataType::Int32,
        ),
        (count(), DataType::Int32),
    ] {
        let new = || {
            with_args(&inner, std::slice::from_ref(&input), |args| {
                inner.create_groups_accumulator(args)
            })
            .unwrap()
        };
        let mut partial = new();
        partial
            .update_batch(&[Arc::clone(&values)], &[0, 1, 0], None, 2)
            .unwrap();
        let states = partial.state(EmitTo::All).unwrap();
        let merging = merge_as_partial(Arc::clone(&inner), vec![input.clone()]);
        let state_types: Vec<DataType> = states.iter().map(|state| state.data_type().clone()).collect();
        let mut merged = with_args(&merging, &state_types, |args| {
            assert!(merging.groups_accumulator_supported(args.clone()));
            merging.create_groups_accumulator(args)
        })
        .unwrap();
        merged.update_batch(&states, &[0, 0], None, 1).unwrap();
        let again = merged.state(EmitTo::All).unwrap();
        let mut last = new();
        last.merge_batch(&again, &[0], 1).unwrap();
        let want = if inner.name() == "count" { "2" } else { "4" };
        assert_eq!(
            show(&last.evaluate(EmitTo::All).unwrap(), 0).as_deref(),
            Some(want)
        );
    }
}

#[test]
fn decimals_kept_in_rows_are_lost_where_they_leave_their_type() {
    let input = DataType::Decimal128(38, 38);
    let columns: Vec<ArrayRef> = ["0.6", "0.6", "-0.6"]
        .iter()
        .map(|text| column(&input, Some(text)))
        .collect();
    let values = concat(&columns.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap();
    let result = |in_rows| {
        let udaf = sum(&input, &input, in_rows, EvalMode::Legacy, None).unwrap();
        show(&partial_final(&udaf, &input, &values, 3).unwrap(), 0)
    };
    assert_eq!(result(true), None);
    assert!(result(false).is_some());
}

/// Two columns of arguments, and each aggregate's result over them as text.
fn over_pairs() -> Vec<(Arc<AggregateUDF>, [ArrayRef; 2], &'static str)> {
    let long = |values: [Option<i64>; 5]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let double = |values: [Option<f64>; 5]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let some = |values: [i64; 5]| long(values.map(Some));
    let options = || PairOptions {
        null_on_divide_by_zero: true,
        variance_of_pairs: true,
        constant_dependent_fits: true,
        mode: EvalMode::Legacy,
        context: None,
    };
    let numbers = long([Some(4), None, Some(1), Some(4), Some(9)]);
    let order = long([Some(2), Some(7), None, Some(3), Some(3)]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![
        Some("a"),
        None,
        Some("b"),
        Some("a"),
        Some(""),
    ]));
    let zeros = double([Some(0.0), Some(-0.0), Some(f64::NAN), Some(f64::NAN), None]);
    let x = double([Some(1.0), Some(2.0), Some(3.0), None, Some(5.0)]);
    let y = double([Some(2.0), Some(4.0), Some(6.0), Some(1.0), Some(10.0)]);
    let (int64, float64) = (DataType::Int64, DataType::Float64);
    let columns = [2, 1].map(|column| ScalarValue::Int64(Some(column))).to_vec();
    vec![
        (
            collect_list(&int64),
            [numbers.clone(), numbers.clone()],
            "[4, 1, 4, 9]",
        ),
        (
            collect_set(&int64).unwrap(),
            [numbers.clone(), numbers.clone()],
            "[4, 1, 9]",
        ),
        (
            collect_set(&float64).unwrap(),
            [zeros.clone(), zeros],
            "[0.0, NaN, NaN]",
        ),
        (
            list_agg(&DataType::Utf8, "-").unwrap(),
            [texts.clone(), texts],
            "a-b-a-",
        ),
        (
            percentile(&int64, 0.5).unwrap(),
            [numbers.clone(), numbers.clone()],
            "4.0",
        ),
        (
            percentile(&int64, 0.75).unwrap(),
            [numbers.clone(), numbers.clone()],
            "5.25",
        ),
        (
            max_by(&int64, &int64).unwrap(),
            [numbers.clone(), order.clone()],
            "",
        ),
        (min_by(&int64, &int64).unwrap(), [numbers.clone(), order], "4"),
        (pairs(PairKind::Corr, options()), [x.clone(), y.clone()], "1.0"),
        (
            pairs(PairKind::RegrSlope, options()),
            [y.clone(), x.clone()],
            "2.0",
        ),
        (pairs(PairKind::RegrIntercept, options()), [y, x], "0.0"),
        (
            pivot_first(&int64, columns).unwrap(),
            [
                some([1, 2, 3, 2, 1]),
                long([Some(5), None, Some(6), Some(7), None]),
            ],
            "[7, 5]",
        ),
    ]
}

#[test]
fn states_of_parts_make_the_whole() {
    for (udaf, columns, expected) in over_pairs() {
        let inputs = [columns[0].data_type().clone(), columns[1].data_type().clone()];
        let arguments = match udaf.name() {
            "spark_pairs" | "spark_max_by" | "spark_min_by" | "spark_pivot_first" => 2,
            _ => 1,
        };
        let (columns, inputs) = (&columns[..arguments], &inputs[..arguments]);
        let text = |array: &ArrayRef| array_value_to_string(array, 0).unwrap();
        for slice in [1, 2, 5] {
            let new = || with_args(&udaf, inputs, |args| udaf.accumulator(args)).unwrap();
            let mut last = new();
            for from in (0..5).step_by(slice) {
                let part: Vec<ArrayRef> = columns
                    .iter()
                    .map(|c| c.slice(from, slice.min(5 - from)))
                    .collect();
                let mut partial = new();
                partial.update_batch(&part).unwrap();
                let states = partial.state().unwrap();
                let states: Vec<ArrayRef> = states.iter().map(|state| state.to_array().unwrap()).collect();
                last.merge_batch(&states).unwrap();
            }
            let found = last.evaluate().unwrap().to_array().unwrap();
            assert_eq!(text(&found), expected, "{} in parts of {slice}", udaf.name());
        }
        let new = || with_args(&udaf, inputs, |args| udaf.create_groups_accumulator(args)).unwrap();
        let states = new().convert_to_state(columns, None).unwrap();
        let mut last = new();
        last.merge_batch(&states, &[1; 5], 2).unwrap();
        drop(last.state(EmitTo::First(1)).unwrap());
        let found = last.evaluate(EmitTo::All).unwrap();
        assert_eq!(text(&found), expected, "{} of groups", udaf.name());
    }
}
