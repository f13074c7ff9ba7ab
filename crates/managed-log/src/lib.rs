//! Plerion's managed-log.
