//! Which ledgers a topic no longer needs.

use plerion_subscription::Position;

use crate::{LedgerInfo, Retention};

/// How many of `ledgers`, from the front, can be deleted: sealed, passed by the slowest durable cursor (if there is
/// one), and over one of the limits of `retention`. `total_bytes` is the size of the whole topic.
pub(crate) fn removable(
    ledgers: &[LedgerInfo],
    slowest: Option<Position>,
    retention: Retention,
    total_bytes: u64,
    now_ms: u64,
) -> usize {
    let mut kept_bytes = total_bytes;
    ledgers
        .iter()
        .take_while(|ledger| {
            let consumed = slowest.is_none_or(|mark_delete| ledger.last() <= mark_delete);
            let removable = ledger.sealed_ms.is_some_and(|sealed_ms| {
                consumed && (is_expired(sealed_ms, retention, now_ms) || is_over_size(kept_bytes, retention))
            });
            kept_bytes = kept_bytes.saturating_sub(ledger.bytes);
            removable
        })
        .count()
}

/// Whether a consumed ledger can be deleted as soon as it is sealed.
pub(crate) fn frees_when_sealed(retention: Retention, total_bytes: u64) -> bool {
    retention.minutes == 0 || is_over_size(total_bytes, retention)
}

fn is_expired(sealed_ms: u64, retention: Retention, now_ms: u64) -> bool {
    u64::try_from(retention.minutes)
        .is_ok_and(|minutes| minutes == 0 || now_ms.saturating_sub(sealed_ms) > minutes.saturating_mul(60_000))
}

fn is_over_size(bytes: u64, retention: Retention) -> bool {
    u64::try_from(retention.megabytes).is_ok_and(|megabytes| bytes > megabytes.saturating_mul(1 << 20))
}

#[cfg(test)]
mod tests;
