//! The `plerion` binary.
fn main() {}
