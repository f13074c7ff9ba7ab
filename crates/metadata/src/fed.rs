//! A stream whose task ends with it.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use tokio::task::AbortHandle;

/// A stream, and the task that feeds it, which ends with it.
pub(crate) struct Fed<S>(S, AbortHandle);

impl<S> Fed<S> {
    pub(crate) fn new(stream: S, task: AbortHandle) -> Self {
        Self(stream, task)
    }
}

impl<S: Stream + Unpin> Stream for Fed<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        Pin::new(&mut self.0).poll_next(context)
    }
}

impl<S> Drop for Fed<S> {
    fn drop(&mut self) {
        self.1.abort();
    }
}
