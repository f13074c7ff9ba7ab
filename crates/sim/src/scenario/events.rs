//! What happens to the hosts.

use serde::Deserialize;
use toml::Spanned;

use super::hosts::HostGroup;
use super::values::Seconds;

/// What can happen to hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// They die, and come back after `down`, if that is given.
    Crash,
    /// One after the other is announced to leave, leaves after `notice`, and comes back after `down`.
    Restart,
    /// They are announced to leave, and leave for good after `notice`.
    Leave,
    /// New ones join.
    Join,
}

/// One thing that happens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Event {
    /// When.
    pub at: Seconds,
    /// What.
    pub action: Spanned<Action>,
    /// The hosts, counted from 0, also those that joined; for `restart` by default all.
    pub hosts: Option<Spanned<Vec<u32>>>,
    /// Time from the announcement until a host leaves.
    #[serde(default = "default_notice")]
    pub notice: Seconds,
    /// How long a host is gone.
    pub down: Option<Seconds>,
    /// Time from one host's return to the next one's announcement.
    #[serde(default = "default_pause")]
    pub pause: Seconds,
    /// The hosts that join.
    pub join: Option<HostGroup>,
}

fn default_notice() -> Seconds {
    Seconds(60.0)
}

fn default_pause() -> Seconds {
    Seconds(60.0)
}
