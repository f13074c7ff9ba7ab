//! The binary as those who run it meet it.

mod config;
mod process;
mod silence;
mod standalone;
