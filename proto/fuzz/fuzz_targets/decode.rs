//! Any bytes: decoding never panics, and what it accepts comes out again as the same message.
#![no_main]

use cne_proto::{
    decode::{Limits, decode_strict},
    spark_operator::Operator,
    v1::QueryRequest,
};
use libfuzzer_sys::fuzz_target;
use prost::Message;

fn round_trip<M: Message + Default>(bytes: &[u8], name: &str) {
    // Small limits: the fuzzer should meet them.
    let limits = Limits { bytes: 1 << 16, depth: 64, values: 4096 };
    let Ok(message) = decode_strict::<M>(bytes, name, &limits) else { return };
    // Numbers that are not a number are not equal to themselves: bytes are compared, not messages. Maps have no order, so lengths are.
    let written = message.encode_to_vec();
    let limits = Limits { bytes: usize::MAX, values: usize::MAX, ..limits };
    match decode_strict::<M>(&written, name, &limits) {
        Ok(again) => assert_eq!(again.encoded_len(), written.len()),
        Err(error) => panic!("refuses what it wrote: {error}"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    round_trip::<QueryRequest>(bytes, "cne.v1.QueryRequest");
    round_trip::<Operator>(bytes, "spark.spark_operator.Operator");
});
