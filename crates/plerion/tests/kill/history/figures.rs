use std::fmt;
use std::time::Duration;

/// How much was tried, and how near to the edge it came.
#[derive(Default)]
pub(crate) struct Figures {
    /// Deaths, those at the beginning and the end included.
    pub(crate) kills: u64,
    pub(crate) receipts: u64,
    pub(crate) deliveries: u64,
    /// Receipts that said that the broker had the message already.
    pub(crate) duplicates: u64,
    /// Acknowledgements without an answer that a crash forgot.
    forgotten: u64,
    /// The age of the oldest of them.
    oldest_forgotten: Duration,
    pub(crate) slowest_ack: Duration,
    /// The longest it took to make acknowledgements durable that want no answer, by the broker's clock.
    pub(crate) slowest_save: Duration,
    /// The longest time from a start to readiness.
    pub(crate) slowest_start: Duration,
}

impl Figures {
    /// Counts a delivery, and the age of its acknowledgement if one was forgotten.
    pub(crate) fn delivered(&mut self, forgotten: Option<Duration>) {
        self.deliveries += 1;
        if let Some(age) = forgotten {
            self.forgotten += 1;
            self.oldest_forgotten = self.oldest_forgotten.max(age);
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kills, {} receipts ({} of duplicates), {} deliveries, {} unanswered acks forgotten, the oldest {} ms \
             before the kill; slowest save {} ms, slowest ack answer {} ms, slowest start {} ms",
            self.kills,
            self.receipts,
            self.duplicates,
            self.deliveries,
            self.forgotten,
            self.oldest_forgotten.as_millis(),
            self.slowest_save.as_millis(),
            self.slowest_ack.as_millis(),
            self.slowest_start.as_millis(),
        )
    }
}
