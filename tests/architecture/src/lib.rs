//! Tests of what must stay true between the parts: see ARCHITECTURE.md. There is nothing but tests here.
#![cfg(test)]

mod directions;
mod licences;
mod lock_file;
mod repository;
mod spdx;
mod text;
