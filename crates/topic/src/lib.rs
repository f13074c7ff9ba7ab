//! Plerion's topic.
