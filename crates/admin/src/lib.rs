//! Plerion's admin.
