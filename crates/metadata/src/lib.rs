//! Plerion's metadata.
