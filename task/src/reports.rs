//! What executors tell the scheduler beside Ballista's own calls: generated from `proto/reports.proto`.

#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

tonic::include_proto!("cne.reports.v1");
