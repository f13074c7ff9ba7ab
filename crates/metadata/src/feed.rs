//! A bounded queue from a store to one listener.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use futures::Stream;
use parking_lot::Mutex;

/// Events a listener can fall behind before they are replaced by one that says so.
const CAPACITY: usize = 16_384;

struct Queue<T> {
    events: VecDeque<T>,
    waker: Option<Waker>,
    closed: bool,
}

/// The sending end: pushing never blocks and never fails.
pub(crate) struct Feed<T>(Weak<Mutex<Queue<T>>>);

/// The receiving end; ends after the last event once the feed is gone.
pub(crate) struct Listener<T>(Arc<Mutex<Queue<T>>>);

/// A connected pair.
pub(crate) fn feed<T>() -> (Feed<T>, Listener<T>) {
    let queue = Arc::new(Mutex::new(Queue { events: VecDeque::new(), waker: None, closed: false }));
    (Feed(Arc::downgrade(&queue)), Listener(queue))
}

impl<T> Feed<T> {
    /// Queues an event; if the listener is too far behind, `overflow` takes the place of all that waits, this event
    /// included. Returns false when there is no listener any more.
    pub(crate) fn push(&self, event: T, overflow: impl FnOnce() -> T) -> bool {
        let Some(queue) = self.0.upgrade() else { return false };
        let waker = {
            let mut queue = queue.lock();
            if queue.events.len() >= CAPACITY {
                queue.events.clear();
                queue.events.push_back(overflow());
            } else {
                queue.events.push_back(event);
            }
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Whether a listener is still there.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        let Some(queue) = self.0.upgrade() else { return };
        let waker = {
            let mut queue = queue.lock();
            queue.closed = true;
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Stream for Listener<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut queue = self.0.lock();
        match queue.events.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if queue.closed => Poll::Ready(None),
            None => {
                queue.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};

    use super::*;

    #[test]
    fn a_listener_gets_events_in_order_and_then_the_end() {
        let (feed, mut listener) = feed();
        assert!(feed.push(1, || 0) && feed.push(2, || 0));
        drop(feed);
        let all: Vec<i32> = (&mut listener).collect().now_or_never().unwrap();
        assert_eq!(all, [1, 2]);
    }

    #[test]
    fn a_listener_too_far_behind_is_told_so_once() {
        let (feed, listener) = feed();
        for event in 1..=CAPACITY + 1 {
            feed.push(event, || 0);
        }
        feed.push(7, || 0);
        drop(feed);
        assert_eq!(listener.collect::<Vec<_>>().now_or_never().unwrap(), [0, 7]);
    }

    #[test]
    fn a_feed_knows_when_nobody_listens() {
        let (feed, listener) = feed::<i32>();
        assert!(feed.is_heard());
        drop(listener);
        assert!(!feed.is_heard() && !feed.push(1, || 0));
    }
}
