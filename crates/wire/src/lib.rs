//! Plerion's wire.
