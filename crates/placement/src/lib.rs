//! Plerion's placement.
