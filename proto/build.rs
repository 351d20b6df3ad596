//! Compiles the .proto files without an installed protoc and keeps the descriptors for the schema fingerprint and for strict decoding.

use std::{env, fs, path::PathBuf};

use prost::Message as _;

const FILES: &[&str] = &[
    "spark/types.proto",
    "spark/literal.proto",
    "spark/expr.proto",
    "spark/partitioning.proto",
    "spark/operator.proto",
    "spark/config.proto",
    "spark/metric.proto",
    "cne/v1/query.proto",
    "cne/v1/task.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    let mut config = prost_build::Config::new();
    // Scan data and blocks are handed on without being copied.
    config.bytes([
        ".cne.v1.Block",
        ".cne.v1.CommitRecord.data",
        ".cne.v1.ScanData",
        ".cne.v1.InlineData",
        ".cne.v1.FragmentNode",
        ".cne.v1.FragmentBlock",
        ".cne.v1.LaunchedPlan",
        ".cne.v1.PartitionPayload",
        ".cne.v1.ExchangeNode",
        ".cne.v1.Shuffle",
    ]);
    config.include_file("modules.rs").compile_fds(descriptors)?;
    Ok(())
}
