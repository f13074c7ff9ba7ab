//! Sends that have no receipt yet, between the thread that writes and the thread that reads.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::Error;
use crate::template::FIRST_SEQUENCE;

/// Bounds the sends under way on one connection and remembers when each was due.
#[derive(Debug)]
pub(crate) struct Window {
    limit: usize,
    step: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    producers: Vec<Pending>,
    outstanding: usize,
    /// No more is sent.
    finished: bool,
}

/// The sends of one producer: receipts come in the order of sending.
#[derive(Clone, Debug)]
struct Pending {
    since: VecDeque<Duration>,
    /// Sequence id of the oldest.
    oldest: u64,
}

impl Window {
    /// A window of `limit` sends for a number of producers whose sequence ids grow by `step`.
    pub(crate) fn new(limit: usize, producers: usize, step: u64) -> Self {
        let pending = Pending { since: VecDeque::new(), oldest: FIRST_SEQUENCE };
        let state = State { producers: vec![pending; producers], outstanding: 0, finished: false };
        Self { limit, step, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// How many sends there is room for, waiting for at least one; 0 once the window is finished.
    pub(crate) fn room(&self) -> usize {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| state.outstanding >= self.limit && !state.finished);
        if state.finished { 0 } else { self.limit - state.outstanding }
    }

    /// Notes sends: the place of each producer, and when the send was due. To be called before they are written.
    pub(crate) fn sent(&self, sends: impl Iterator<Item = (usize, Duration)>) {
        let mut state = self.state.lock();
        for (producer, since) in sends {
            state.producers[producer].since.push_back(since);
            state.outstanding += 1;
        }
    }

    /// Takes receipts, of producer and sequence id, and appends to `since` when each send was due.
    pub(crate) fn received(&self, receipts: &[(usize, u64)], since: &mut Vec<Duration>) -> Result<(), Error> {
        let mut state = self.state.lock();
        for (producer, sequence) in receipts {
            let pending = state.producers.get_mut(*producer);
            let Some((pending, due)) = pending.and_then(|pending| pending.since.pop_front().map(|due| (pending, due)))
            else {
                return Err(Error::Protocol(format!("receipt for producer {producer}, which has sent nothing")));
            };
            if pending.oldest != *sequence {
                let want = pending.oldest;
                return Err(Error::Protocol(format!("receipt for sequence id {sequence}, {want} is the oldest sent")));
            }
            pending.oldest += self.step;
            since.push(due);
        }
        state.outstanding -= receipts.len();
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Ends the sending, from either side.
    pub(crate) fn finish(&self) {
        self.state.lock().finished = true;
        self.changed.notify_one();
    }

    /// Sends without a receipt, and whether more may follow.
    pub(crate) fn outstanding(&self) -> (usize, bool) {
        let state = self.state.lock();
        (state.outstanding, !state.finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_give_room_and_tell_when_their_sends_were_due() {
        let window = Window::new(3, 2, 10);
        let due = [1, 2, 3].map(Duration::from_secs);
        window.sent([(0, due[0]), (1, due[1]), (0, due[2])].into_iter());
        assert_eq!(window.outstanding(), (3, true));
        let mut since = Vec::new();
        window
            .received(&[(1, FIRST_SEQUENCE), (0, FIRST_SEQUENCE), (0, FIRST_SEQUENCE + 10)], &mut since)
            .expect("valid");
        assert_eq!(since, [due[1], due[0], due[2]]);
        assert_eq!(window.room(), 3);
    }

    #[test]
    fn receipts_out_of_order_are_refused() {
        let window = Window::new(3, 1, 1);
        window.sent([(0, Duration::ZERO); 2].into_iter());
        assert!(window.received(&[(0, FIRST_SEQUENCE + 1)], &mut Vec::new()).is_err());
        assert!(window.received(&[(7, FIRST_SEQUENCE)], &mut Vec::new()).is_err());
    }

    #[test]
    fn the_end_lets_a_waiting_writer_go() {
        let window = Window::new(1, 1, 1);
        window.sent([(0, Duration::ZERO)].into_iter());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| window.room());
            window.finish();
            assert_eq!(writer.join().expect("no panic"), 0);
        });
    }
}
