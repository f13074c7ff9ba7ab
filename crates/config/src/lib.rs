//! Plerion's config.
