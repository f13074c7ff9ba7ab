//! `cargo fuzz run stream fuzz/corpus/stream tests/corpus/stream`, in `crates/wire`.
#![no_main]

#[path = "../../tests/conformance/judge.rs"]
#[allow(dead_code, reason = "shared with the other target")]
mod judge;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| judge::stream(bytes));
