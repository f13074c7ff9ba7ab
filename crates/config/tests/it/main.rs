//! The settings as those who configure a broker meet them.

mod configuration_file;
mod live;
mod network;
mod pulsar_defaults;
mod sources;
