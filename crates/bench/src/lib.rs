//! Plerion's bench.
