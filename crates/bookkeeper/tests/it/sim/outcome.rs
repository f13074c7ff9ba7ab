//! What actors want done, and what they tell.

use std::time::Duration;

use plerion_bookkeeper::ledger_metadata::{LedgerMetadata, State};
use plerion_bookkeeper::protocol::{Action, Wake, recovery, writer};

use super::world::{Event, World};

impl World {
    pub(super) fn carry_out(&mut self, actor: usize, out: Vec<Action<writer::Event>>) {
        for action in out {
            match action {
                Action::Send { to, call, token } => self.send(actor, to, call, token),
                Action::Ask(ask) => self.put_ask(actor, ask),
                Action::Wake { after, wake } => self.wake_after(actor, after, wake),
                Action::Tell(writer::Event::Advanced(last)) => self.check_acknowledgement(last),
                Action::Tell(writer::Event::Failed(error)) => {
                    let kind = format!("{error:?}");
                    self.saw(format!("writer: {}", kind.split(['(', ' ']).next().unwrap_or_default()));
                    self.writer_over = true;
                }
                Action::Tell(writer::Event::Closed { last, length }) => {
                    self.saw("writer: closed");
                    self.writer_over = true;
                    self.ends.insert((last, length));
                }
            }
        }
    }

    pub(super) fn carry_out_recovery(&mut self, actor: usize, out: Vec<Action<recovery::Event>>) {
        for action in out {
            match action {
                Action::Send { to, call, token } => self.send(actor, to, call, token),
                Action::Ask(ask) => self.put_ask(actor, ask),
                Action::Wake { after, wake } => self.wake_after(actor, after, wake),
                Action::Tell(recovery::Event::Done(metadata)) => {
                    self.saw("recovery: done");
                    let stored = self.store.metadata();
                    if !stored.is_equivalent(&metadata) || stored.state != State::Closed {
                        self.violate("a recovery reports an end that is not written down");
                    }
                    self.ends.insert((metadata.last, metadata.length));
                }
                Action::Tell(recovery::Event::Failed(error)) => {
                    let kind = format!("{error:?}");
                    self.saw(format!("recovery: {}", kind.split(['(', ' ']).next().unwrap_or_default()));
                    self.recoveries_failed += 1;
                    if matches!(error, recovery::Error::Refused) && self.store.metadata().state == State::Closed {
                        self.violate("a recovery fails although the ledger is closed");
                    }
                }
            }
        }
    }

    fn wake_after(&mut self, actor: usize, after: Duration, wake: Wake) {
        let after = u64::try_from(after.as_micros()).unwrap();
        self.at(self.now + after, Event::Wake { actor, wake });
    }

    fn check_acknowledgement(&mut self, last: i64) {
        if self.writer_over {
            self.violate("an acknowledgement after the writer was over");
        }
        let metadata = self.store.metadata();
        if metadata.state == State::Closed && last > metadata.last {
            self.violate(format!("entry {last} acknowledged, but the ledger ends at {}", metadata.last));
        }
        for entry in self.acknowledged + 1..=last {
            let held = self.holders(&metadata, entry);
            if held < self.quorum.ack() {
                self.violate(format!("entry {entry} acknowledged with {held} holders in its ensemble"));
            }
        }
        self.acknowledged = last;
        self.saw("writer: acknowledged");
    }

    /// How many of the bookies that the metadata names for an entry have it.
    pub(crate) fn holders(&self, metadata: &LedgerMetadata, entry: i64) -> usize {
        let ensemble = &metadata.segment_of(entry).ensemble;
        let set = metadata.quorum.write_set(entry);
        set.filter(|index| self.bookies[&ensemble[*index]].entries.contains_key(&entry)).count()
    }
}
