//! What a message says, without what only accompanies it: two messages are equal for execution when their contents are.

use crate::schema::{Kind, Schema};

/// Closes a message; no field has this key.
const END: u8 = 0;

/// Query contexts (for messages of errors), expression and plan ids, the names of sources, which hold ids too, and the hash by which Comet's own
/// runtime finds the data of a scan (here it travels beside the scan). None of them changes a row.
const LEFT_OUT: &[(&str, &[u32])] = &[
    ("spark.spark_expression.Expr", &[90, 91]),
    ("spark.spark_expression.AggExpr", &[90, 91]),
    ("spark.spark_operator.Operator", &[2, 3]),
    ("spark.spark_operator.Scan", &[2]),
    ("spark.spark_operator.ShuffleScan", &[2]),
    ("spark.spark_operator.NativeScan", &[3]),
    ("spark.spark_operator.NativeScanCommon", &[12]),
];

/// Appends the content of a message `name` that [`crate::decode::check`] has accepted to `into`: a self-delimiting sequence of bytes, for
/// comparison only. Seeds of random functions belong to it. `None` for bytes that are not such a message.
pub fn append_content(bytes: &[u8], name: &str, into: &mut Vec<u8>) -> Option<()> {
    let schema = Schema::get();
    // Open messages, each with the offset behind its last byte. Plans are nested deeply, so they lie on the heap.
    let mut open = vec![(schema.index_of(name)?, bytes.len())];
    let mut at = 0;
    while let Some((index, end)) = open.last().copied() {
        if at >= end {
            open.pop();
            into.push(END);
            continue;
        }
        let message = schema.messages.get(index)?;
        let start = at;
        let key = varint(bytes, &mut at)?;
        let number = u32::try_from(key >> 3).ok()?;
        let field = message.field(number)?;
        let content = match key & 7 {
            0 => {
                varint(bytes, &mut at)?;
                at
            }
            1 => at.checked_add(8)?,
            5 => at.checked_add(4)?,
            2 => {
                let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
                at.checked_add(length)?
            }
            _ => return None,
        };
        if content > end {
            return None;
        }
        let skipped = LEFT_OUT
            .iter()
            .any(|(name, fields)| *name == message.name && fields.contains(&number));
        match field.kind {
            _ if skipped => at = content,
            Kind::Message(inner) => {
                // Its length counts what is left out.
                push_varint(key, into);
                open.push((inner, content));
            }
            _ => {
                into.extend_from_slice(bytes.get(start..content)?);
                at = content;
            }
        }
    }
    Some(())
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn push_varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        decode::{Limits, check},
        schema::descriptors,
        spark_expression::{BoundReference, Expr, QueryContext, Rand, expr::ExprStruct},
        spark_operator::{Operator, Projection, Scan, operator::OpStruct},
    };
    use prost::Message;

    const OPERATOR: &str = "spark.spark_operator.Operator";

    fn expr(kind: ExprStruct, id: Option<u64>) -> Expr {
        let context = QueryContext {
            sql_text: format!("select {id:?}"),
            ..Default::default()
        };
        Expr {
            expr_struct: Some(kind),
            query_context: id.map(|_| context),
            expr_id: id,
        }
    }

    fn projection(list: Vec<Expr>, id: u32) -> Vec<u8> {
        let scan = Scan {
            source: format!("Exchange [a#{id}L]"),
            ..Default::default()
        };
        let operator = |op, children| Operator {
            op_struct: Some(op),
            children,
            plan_id: id,
            sql_text_pool: vec![format!("select {id}")],
        };
        let list = Projection { project_list: list };
        operator(
            OpStruct::Projection(list),
            vec![operator(OpStruct::Scan(scan), vec![])],
        )
        .encode_to_vec()
    }

    fn content(bytes: &[u8]) -> Vec<u8> {
        check(bytes, OPERATOR, &Limits::default()).unwrap();
        let mut into = vec![];
        append_content(bytes, OPERATOR, &mut into).unwrap();
        into
    }

    #[test]
    fn ids_and_contexts_do_not_count_all_else_does() {
        let column = |index, id| {
            expr(
                ExprStruct::Bound(BoundReference {
                    index,
                    datatype: None,
                }),
                id,
            )
        };
        let random = |seed| expr(ExprStruct::Rand(Rand { seed }), None);
        let base = content(&projection(vec![column(1, Some(7))], 1));
        assert_eq!(base, content(&projection(vec![column(1, Some(300))], 200)));
        assert_eq!(base, content(&projection(vec![column(1, None)], 0)));
        let others = [
            vec![column(2, Some(7))],
            vec![],
            vec![column(1, None), column(1, None)],
            vec![random(1)],
            vec![random(2)],
        ];
        let mut all: Vec<_> = others
            .into_iter()
            .map(|list| content(&projection(list, 1)))
            .collect();
        all.push(base);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
        let whole = projection(vec![column(1, Some(7))], 1);
        assert_eq!(
            append_content(&whole[..whole.len() - 1], OPERATOR, &mut vec![]),
            None
        );
    }

    #[test]
    fn what_is_left_out_is_what_its_number_says() {
        let names = [
            "query_context",
            "expr_id",
            "plan_id",
            "sql_text_pool",
            "source",
            "source_key_hash",
        ];
        for (message, fields) in LEFT_OUT {
            let file = descriptors()
                .file
                .iter()
                .flat_map(|file| file.message_type.iter().map(move |m| (file.package(), m)));
            let mut file = file.filter(|(package, m)| format!("{package}.{}", m.name()) == *message);
            let (_, found) = file.next().unwrap();
            for number in *fields {
                let field = found
                    .field
                    .iter()
                    .find(|field| field.number() == *number as i32)
                    .unwrap();
                assert!(names.contains(&field.name()), "{message}.{}", field.name());
            }
        }
    }
}
