//! Blocks built by hand, run over rows in memory.

mod aggregates;
mod build;
mod fragments;
mod joins;
mod nodes;
mod pushdown;
mod rejection_list;
mod rejections;
mod shared;
mod sorted;
mod windows;
