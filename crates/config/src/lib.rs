//! The settings of a broker, under the names of Pulsar's `broker.conf`.
//!
//! Every key is declared once, in [`section`]: name, type, unit, range, default, documentation, and whether it can be
//! changed while the broker runs. From that table come the typed [`Settings`], their validation, the reference printed
//! by the command line and `conf/standalone.conf`.
//!
//! [`Sources`] collects what was asked for and by whom, in rising order of precedence: defaults, file, environment,
//! command line. Nothing here reads a file or the environment: texts come in as arguments.
//!
//! A key of Pulsar's that Plerion has no use for is accepted with a [`Warning`]; one that would weaken what was asked
//! for if it were ignored (authentication, TLS) is refused, and so is a key nobody knows.

mod error;
mod key;
mod kind;
mod live;
mod nearest;
pub mod properties;
mod pulsar;
pub mod reference;
pub mod section;
mod settings;
mod source;

pub use error::{Problem, Problems, Warning};
pub use key::{Key, find, keys};
pub use kind::address::{Endpoint, Scheme};
pub use kind::choice::{InactiveTopicMode, SchemaStrategy, SubscriptionType, TopicType};
pub use live::LiveSettings;
pub use settings::Settings;
pub use source::{Origin, Sources};
