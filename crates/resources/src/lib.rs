//! Plerion's resources.
pub mod names;
pub mod topic_list;
