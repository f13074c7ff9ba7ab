//! Plerion's resources.
