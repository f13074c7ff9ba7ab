//! What happens to hosts, in order of time.

use crate::scenario::{Action, HostGroup, Scenario};

/// One thing that happens to one host, or to those that join.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// It dies.
    Crash(u32),
    /// The cluster sees that it is gone.
    Missed(u32),
    /// It is announced to leave.
    Announce(u32),
    /// It hands its bundles back and leaves.
    Leave(u32),
    /// It comes back.
    Return(u32),
    /// New hosts join.
    Join(HostGroup),
}

#[derive(Clone, Debug)]
pub(super) struct Agenda {
    /// The latest first.
    acts: Vec<(f64, Act)>,
    first: Option<f64>,
}

impl Agenda {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let mut acts = Vec::new();
        let mut hosts = u32::try_from(scenario.host_count()).unwrap_or(0);
        let mut events: Vec<_> = scenario.events.iter().map(toml::Spanned::get_ref).collect();
        events.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
        for event in events {
            let at = event.at.0;
            let named = event.hosts.as_ref().map_or_else(|| (0..hosts).collect(), |named| named.get_ref().clone());
            match event.action.get_ref() {
                Action::Crash => {
                    for host in named {
                        let missed = event.down.map_or(f64::INFINITY, |down| down.0).min(scenario.session_timeout.0);
                        acts.push((at, Act::Crash(host)));
                        acts.push((at + missed, Act::Missed(host)));
                        acts.extend(event.down.map(|down| (at + down.0, Act::Return(host))));
                    }
                }
                Action::Leave => {
                    for host in named {
                        acts.push((at, Act::Announce(host)));
                        acts.push((at + event.notice.0, Act::Leave(host)));
                    }
                }
                Action::Restart => {
                    let mut next = at;
                    for host in named {
                        let (gone, down) = (next + event.notice.0, event.down.map_or(0.0, |down| down.0));
                        acts.push((next, Act::Announce(host)));
                        acts.push((gone, Act::Leave(host)));
                        acts.push((gone + down, Act::Return(host)));
                        next = gone + down + event.pause.0;
                    }
                }
                Action::Join => {
                    if let Some(group) = &event.join {
                        hosts += group.count.0;
                        acts.push((at, Act::Join(group.clone())));
                    }
                }
            }
        }
        acts.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Of acts at one time the sort keeps the order, and they are taken from the end.
        let mut from = 0;
        while from < acts.len() {
            let same = acts[from..].partition_point(|(at, _)| *at >= acts[from].0);
            acts[from..from + same].reverse();
            from += same;
        }
        Self { first: acts.last().map(|(at, _)| *at), acts }
    }

    /// When something first happens.
    pub(super) fn first(&self) -> Option<f64> {
        self.first
    }

    /// The next thing that is due.
    pub(super) fn due(&mut self, now: f64) -> Option<Act> {
        self.acts.pop_if(|(at, _)| *at <= now).map(|(_, act)| act)
    }
}
