//! The laboratory from outside.

mod behaviour;
mod documentation;
mod scenarios;
mod support;
