//! Plerion's broker.
