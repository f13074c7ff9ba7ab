//! Frames on their way to the ledger, and who waits for them.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use plerion_ledger::{AppendError, Body};
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use super::{Inner, frame};
use crate::Error;
use crate::tail::Pushed;

/// How far the frames are, in numbers since the log was opened.
#[derive(Default)]
pub(super) struct Shipping {
    /// Frames that were given to the tail.
    pub(super) pushed: u64,
    /// Frames that are durable.
    pub(super) durable: u64,
    /// Who waits until so many frames are durable; ascending.
    pub(super) waiters: VecDeque<(u64, oneshot::Sender<Result<(), Error>>)>,
    /// A task will ship the frame at the end of this round.
    scheduled: bool,
}

/// Resolves when the changes it was asked for are durable.
#[must_use = "a flush is done only when it has resolved"]
pub struct Flush(State);

enum State {
    Done(Option<Error>),
    Waiting(oneshot::Receiver<Result<(), Error>>),
}

impl Future for Flush {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        Poll::Ready(match &mut self.0 {
            State::Done(error) => error.take().map_or(Ok(()), |error| Err(in_state_log(error))),
            State::Waiting(receiver) => match ready!(Pin::new(receiver).poll(cx)) {
                Ok(outcome) => outcome.map_err(in_state_log),
                Err(_) => Err(in_state_log(Error::Closed)),
            },
        })
    }
}

fn in_state_log(error: Error) -> Error {
    Error::StateLog(Arc::new(error))
}

impl Inner {
    pub(super) fn flush(self: &Rc<Self>) -> Flush {
        if let Some(error) = &*self.failure.borrow() {
            return Flush(State::Done(Some(error.clone())));
        }
        let unshipped = !self.frame.borrow().is_empty();
        let mut shipping = self.shipping.borrow_mut();
        let target = shipping.pushed + u64::from(unshipped);
        if shipping.durable >= target {
            return Flush(State::Done(None));
        }
        if unshipped && !std::mem::replace(&mut shipping.scheduled, true) {
            let inner = Rc::clone(self);
            spawn_local(async move {
                inner.shipping.borrow_mut().scheduled = false;
                inner.ship();
            });
        }
        let (sender, receiver) = oneshot::channel();
        shipping.waiters.push_back((target, sender));
        Flush(State::Waiting(receiver))
    }

    /// Gives the frame to the tail.
    pub(super) fn ship(self: &Rc<Self>) {
        let frame = std::mem::take(&mut *self.frame.borrow_mut());
        if frame.is_empty() || self.failure.borrow().is_some() {
            return;
        }
        let frame = frame::seal(frame);
        self.shipping.borrow_mut().pushed += 1;
        let pushed = {
            let mut tail = self.tail.borrow_mut();
            let pushed = tail.push(Body::from(&frame[..]), false);
            if tail.waiting_bytes() > self.context.config.max_waiting_bytes {
                Err(AppendError::Unavailable(Arc::from("too many changes wait for a ledger to be made")))
            } else {
                pushed
            }
        };
        match pushed {
            Ok(Pushed::NeedsWriter) => self.start_writing(),
            Ok(Pushed::Appended | Pushed::Waits) => self.compact_if_large(),
            Err(error) => self.fail(Error::Append(error)),
        }
    }

    pub(super) fn advanced(&self, last: u64) {
        let (_, count) = self.tail.borrow_mut().advance(last);
        let mut shipping = self.shipping.borrow_mut();
        shipping.durable += count;
        let durable = shipping.durable;
        while let Some((_, waiter)) = shipping.waiters.pop_front_if(|(target, _)| *target <= durable) {
            // Whoever has gone does not want to know.
            let _ = waiter.send(Ok(()));
        }
    }
}
