//! Strict decoding of messages as they come, and as they must not come, from the network.
#![allow(clippy::panic, clippy::unwrap_used)]

use bytes::Bytes;
use cne_proto::{
    decode::{DecodeError, Limits, check, decode_strict, decode_strict_shared},
    spark_expression::Expr,
    spark_operator::{self, Operator, operator::OpStruct},
    v1,
};
use prost::Message;

const REQUEST: &str = "cne.v1.QueryRequest";
const OPERATOR: &str = "spark.spark_operator.Operator";
const EXPR: &str = "spark.spark_expression.Expr";

fn request() -> v1::QueryRequest {
    let input = v1::StageInput {
        producer: 0,
        exchange: Some(v1::stage_input::Exchange::Shuffle(v1::Shuffle {
            partitioning: Bytes::from_static(b"opaque"),
            origin: v1::ShuffleOrigin::RepartitionByNum.into(),
        })),
    };
    let coalesce = v1::CoalesceGroups {
        group_of_map_partition: vec![0, 0, 1, 300],
    };
    let block = v1::Block {
        operator: limit(3).encode_to_vec().into(),
        scans: vec![v1::ScanData {
            common: Bytes::from(coalesce.encode_to_vec()),
            partitions: vec![Bytes::new()],
        }],
    };
    let stage = v1::Stage {
        label: "Größe".into(),
        inputs: vec![input],
        kind: Some(v1::stage::Kind::Block(block)),
    };
    v1::QueryRequest {
        query_id: "q".into(),
        config: [("a".to_owned(), "b".to_owned()), ("c".to_owned(), String::new())].into(),
        stages: vec![stage.clone(), stage],
        deadline_ms: u64::MAX,
        ..Default::default()
    }
}

fn limit(limit: i32) -> Operator {
    let node = spark_operator::Limit {
        limit,
        ..Default::default()
    };
    Operator {
        op_struct: Some(OpStruct::Limit(node)),
        ..Default::default()
    }
}

/// `levels` operators inside each other (`children` = 1).
fn nested_operators(levels: usize) -> Vec<u8> {
    nested(levels, |_| 1)
}

/// `levels` messages: an Expr (`is_null` = 15) in a UnaryExpr (`child` = 1) and so on; the outermost is an Expr.
fn nested_expressions(levels: usize) -> Vec<u8> {
    nested(levels, |level| if level % 2 == 0 { 15 } else { 1 })
}

/// Messages inside each other; the one at `level` (0 = outermost) holds the next one as field `number(level)`. Built by hand from the
/// inside out, because prost's encoder recurses too.
fn nested(levels: usize, number: fn(usize) -> u8) -> Vec<u8> {
    let mut reversed = Vec::new();
    for level in (0..levels - 1).rev() {
        let mut length = Vec::new();
        prost::encoding::encode_varint(reversed.len() as u64, &mut length);
        reversed.extend(length.iter().rev());
        reversed.push(number(level) << 3 | 2);
    }
    reversed.reverse();
    reversed
}

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len() + 8);
    prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut bytes);
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend_from_slice(content);
    bytes
}

fn refused(bytes: &[u8], name: &str) -> DecodeError {
    check(bytes, name, &Limits::default()).unwrap_err()
}

#[test]
fn what_prost_writes_is_read_back() {
    let bytes = Bytes::from(request().encode_to_vec());
    let limits = Limits::default();
    assert_eq!(
        decode_strict::<v1::QueryRequest>(&bytes, REQUEST, &limits),
        Ok(request())
    );
    assert_eq!(
        decode_strict_shared::<v1::QueryRequest>(&bytes, REQUEST, &limits),
        Ok(request())
    );
    // Packed numbers, one by one and both: all are legal.
    let name = "cne.v1.CoalesceGroups";
    for bytes in [&[0x0a, 2, 5, 6][..], &[0x08, 5, 0x08, 6], &[0x08, 5, 0x0a, 1, 6]] {
        let groups: v1::CoalesceGroups = decode_strict(bytes, name, &limits).unwrap();
        assert_eq!(groups.group_of_map_partition, [5, 6]);
    }
    // Negative 32-bit numbers are ten bytes long.
    assert_eq!(
        decode_strict(&limit(-1).encode_to_vec(), OPERATOR, &limits),
        Ok(limit(-1))
    );
}

#[test]
fn an_unknown_field_is_named_with_its_place() {
    let mut request = request();
    let mut bytes = request.encode_to_vec();
    bytes.extend_from_slice(&[0xf8, 0x07, 1]);
    let DecodeError::UnknownField {
        message,
        number,
        path,
    } = refused(&bytes, REQUEST)
    else {
        panic!("expected an unknown field");
    };
    assert_eq!((message.as_str(), number, path.as_str()), (REQUEST, 127, REQUEST));

    // Deeper inside: Union has no fields at all.
    request.stages.clear();
    let stage = field(11, &[0x08, 1]);
    let bytes = field(7, &stage);
    let error = refused(&bytes, REQUEST);
    let expected = "unknown field 1 in cne.v1.Union at cne.v1.QueryRequest/stages/union";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn wrong_kinds_of_values_are_refused() {
    let wire_type = |found| matches!(found, DecodeError::WrongWireType { .. });
    assert!(wire_type(refused(&[0x08, 1], REQUEST)), "a number for a string");
    assert!(wire_type(refused(&[0x4a, 0], REQUEST)), "bytes for a number");
    assert!(
        wire_type(refused(&[0x3b, 0x3c], REQUEST)),
        "a group for a message"
    );
    assert!(matches!(
        refused(&[0x0a, 1, 0xff], REQUEST),
        DecodeError::InvalidUtf8 { .. }
    ));
    let shuffle = "cne.v1.Shuffle";
    assert!(matches!(
        refused(&[0x10, 9], shuffle),
        DecodeError::UnknownEnumValue { value: 9, .. }
    ));
    let above_u32 = [0x08, 0x80, 0x80, 0x80, 0x80, 0x10];
    assert!(matches!(
        refused(&above_u32, "cne.v1.StageInput"),
        DecodeError::OutOfRange { .. }
    ));
    let malformed = |found| matches!(found, DecodeError::Malformed { .. });
    assert!(malformed(refused(&[0x02, 0], REQUEST)), "field number 0");
    let eleven = [
        0x48, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
    ];
    assert!(
        malformed(refused(&eleven, REQUEST)),
        "a number of more than 64 bits"
    );
    assert!(matches!(
        refused(&[], "cne.v1.Nothing"),
        DecodeError::UnknownMessage(_)
    ));
}

#[test]
fn nothing_that_was_sent_is_dropped_silently() {
    let conflict = |found| matches!(found, DecodeError::Conflict { .. });
    assert!(
        conflict(refused(&[0x0a, 1, b'a', 0x0a, 1, b'b'], REQUEST)),
        "a string twice"
    );
    let two_kinds = [field(11, &[]), field(12, &[])].concat();
    assert!(
        conflict(refused(&two_kinds, "cne.v1.Stage")),
        "two members of a oneof"
    );
    // The same field in two messages is not given twice.
    check(
        &[field(7, &field(1, b"a")), field(7, &field(1, b"b"))].concat(),
        REQUEST,
        &Limits::default(),
    )
    .unwrap();
}

#[test]
fn every_truncation_is_noticed_or_ends_between_fields() {
    let bytes = request().encode_to_vec();
    let mut boundaries = 0;
    for end in 0..bytes.len() {
        match decode_strict::<v1::QueryRequest>(&bytes[..end], REQUEST, &Limits::default()) {
            Ok(part) => {
                assert_eq!(part.encoded_len(), end);
                boundaries += 1;
            }
            Err(DecodeError::Malformed { offset, .. }) => assert!(offset <= end),
            Err(other) => panic!("{other} at {end}"),
        }
    }
    // Empty, after the id, two config entries, the first stage, the second one.
    assert_eq!(boundaries, 6);
}

#[test]
fn size_and_number_of_values_are_limited() {
    let bytes = request().encode_to_vec();
    let limits = Limits {
        bytes: bytes.len() - 1,
        ..Limits::default()
    };
    let error = check(&bytes, REQUEST, &limits).unwrap_err();
    assert_eq!(
        error,
        DecodeError::TooLarge {
            size: bytes.len(),
            limit: bytes.len() - 1
        }
    );
    let empty_stages = [0x3a, 0].repeat(1001);
    let limits = Limits {
        values: 1000,
        ..Limits::default()
    };
    let error = check(&empty_stages, REQUEST, &limits).unwrap_err();
    assert_eq!(error, DecodeError::TooManyValues { limit: 1000 });
    check(&empty_stages[2..], REQUEST, &limits).unwrap();
}

#[test]
fn the_deepest_allowed_message_is_decoded_on_a_small_stack() {
    fn accepted_up_to_the_limit<M: Message + Default + std::fmt::Debug>(
        make: fn(usize) -> Vec<u8>,
        name: &str,
    ) {
        let limits = Limits::default();
        decode_strict::<M>(&make(limits.depth), name, &limits).unwrap();
        let error = decode_strict::<M>(&make(limits.depth + 1), name, &limits).unwrap_err();
        assert!(
            matches!(error, DecodeError::TooDeep { limit: 2000, .. }),
            "{error}"
        );
        assert!(error.to_string().len() < 1000, "the path is shortened");
    }
    // Smaller than what tokio and libraries give their threads.
    let small = std::thread::Builder::new().stack_size(512 << 10);
    let test = || {
        accepted_up_to_the_limit::<Operator>(nested_operators, OPERATOR);
        accepted_up_to_the_limit::<Expr>(nested_expressions, EXPR);
    };
    small.spawn(test).unwrap().join().unwrap();
}

#[test]
fn the_walk_needs_no_stack() {
    let bytes = nested_operators(200_000);
    let limits = Limits {
        depth: usize::MAX,
        values: usize::MAX,
        ..Limits::default()
    };
    let small = std::thread::Builder::new().stack_size(128 << 10);
    let depth = small
        .spawn(move || check(&bytes, OPERATOR, &limits))
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(depth, Ok(200_000));
}

#[test]
fn mutations_never_panic_and_what_is_accepted_is_kept() {
    let original = request().encode_to_vec();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let mut accepted = 0;
    for _ in 0..50_000 {
        let mut bytes = original.clone();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes.insert(at, next(256) as u8),
                _ => drop(bytes.remove(at)),
            }
        }
        if let Ok(message) = decode_strict::<v1::QueryRequest>(&bytes, REQUEST, &Limits::default()) {
            // Nothing was dropped: what comes out again decodes to the same.
            let again = decode_strict(&message.encode_to_vec(), REQUEST, &Limits::default());
            assert_eq!(again, Ok(message));
            accepted += 1;
        }
    }
    assert!(
        accepted > 1000,
        "{accepted} accepted: the mutations are too wild to say anything"
    );
}
