//! Moving subscriptions.

use plerion_subscription::Position;
use plerion_topic::Target;
use plerion_wire::{MessageMetadata, Payload};
use serde_json::Value;

use super::subscriptions::not_found;
use super::{combined, for_each, partition_count, parts, position};
use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{Permitted, Topic};
use crate::refusal::Refusal;

fn number(at: &Permitted<Topic>, name: &str) -> Result<i64, Refusal> {
    let text = at.params.get(name);
    text.parse().map_err(|_| Refusal::malformed(format!("'{text}' in the path must be an integer")))
}

/// Moves the subscription, in every partition, to `target`.
async fn seek(at: &Permitted<Topic>, target: Target) -> Done {
    let (broker, name, wanted) = (&at.broker, &at.target.0, at.params.get("subscription"));
    let target = &target;
    let parts = parts(broker, name).await?;
    let moved = for_each(&parts, |part| async move { broker.reset_cursor(&part, wanted, target.clone()).await });
    combined(moved.await).map_err(|refusal| refusal.or_not_found(&not_found(wanted, name.as_str())))?;
    DONE
}

pub(super) async fn reset_to_time(at: Permitted<Topic>) -> Done {
    let time = number(&at, "time")?;
    seek(&at, Target::Time(u64::try_from(time).unwrap_or(0))).await
}

/// To a message, or after it where the body says that it is excluded.
pub(super) async fn reset(at: Permitted<Topic>, Body(body): Body<Value>) -> Done {
    let excluded = body.get("isExcluded").and_then(Value::as_bool).unwrap_or(false);
    let Some((position, batch)) = position::read(body)? else {
        return Err(Refusal::malformed("The message id to go on at is missing"));
    };
    let is_whole = partition_count(&at.broker, &at.target.0).await?.is_none();
    let is_end = [Position::EARLIEST, Position::LATEST].contains(&position);
    if !is_whole && !is_end {
        return Err(Refusal::not_allowed("Reset-cursor at position is not allowed for partitioned-topic"));
    }
    let next = |position: Position| Position { entry: position.entry.saturating_add(1), ..position };
    if is_end {
        return seek(&at, Target::Entry(position)).await;
    }
    if batch < 0 {
        return seek(&at, Target::Entry(if excluded { next(position) } else { position })).await;
    }
    let size = batch_size(&at, position).await?;
    let first = batch.saturating_add(i64::from(excluded));
    let target = match usize::try_from(first).ok().filter(|first| *first < size) {
        Some(first) => Target::Batch(position, remaining(first, size)),
        None => Target::Entry(next(position)),
    };
    seek(&at, target).await
}

/// How many messages an entry holds.
async fn batch_size(at: &Permitted<Topic>, position: Position) -> Result<usize, Refusal> {
    let found = at.broker.entry(&at.target.0, position).await?;
    let unreadable = || Refusal::invalid(format!("The entry at {position} cannot be read"));
    let payload = Payload::parse(&found.entry).map_err(|_| unreadable())?;
    let metadata = MessageMetadata::peek(payload.metadata).map_err(|_| unreadable())?;
    usize::try_from(metadata.num_messages()).map_err(|_| unreadable())
}

/// The bits of a batch's messages from `first` on.
fn remaining(first: usize, size: usize) -> Vec<i64> {
    let mut bits = vec![0; size.div_ceil(64)];
    for index in first..size {
        bits[index / 64] |= 1 << (index % 64);
    }
    bits
}

pub(super) async fn skip(at: Permitted<Topic>) -> Done {
    let (broker, name, wanted) = (&at.broker, &at.target.0, at.params.get("subscription"));
    let count = u64::try_from(number(&at, "count")?).map_err(|_| Refusal::invalid("The count must be 0 or more"))?;
    if partition_count(broker, name).await?.is_some() {
        return Err(Refusal::not_allowed("Skip messages on a partitioned topic is not allowed"));
    }
    let skipped = broker.skip(name, wanted, Some(count)).await;
    skipped.map_err(|failure| absence(failure, wanted, name.as_str()))?;
    DONE
}

pub(super) async fn skip_all(at: Permitted<Topic>) -> Done {
    let (broker, name, wanted) = (&at.broker, &at.target.0, at.params.get("subscription"));
    let parts = parts(broker, name).await?;
    let skipped = for_each(&parts, |part| async move { broker.skip(&part, wanted, None).await });
    combined(skipped.await).map_err(|refusal| refusal.or_not_found(&not_found(wanted, name.as_str())))?;
    DONE
}

/// Counts old messages as acknowledged, in one subscription or in all of them.
pub(super) async fn expire(at: Permitted<Topic>) -> Done {
    let (broker, name, wanted) = (&at.broker, &at.target.0, at.params.get("subscription"));
    let seconds = u64::try_from(number(&at, "seconds")?).map_err(|_| Refusal::invalid("The age must be 0 or more"))?;
    let age = seconds.saturating_mul(1_000);
    let subscription = Some(wanted).filter(|wanted| !wanted.is_empty());
    let parts = parts(broker, name).await?;
    let expired = for_each(&parts, |part| async move { broker.expire(&part, subscription, age).await });
    combined(expired.await).map_err(|refusal| match subscription {
        Some(wanted) => refusal.or_not_found(&not_found(wanted, name.as_str())),
        None => refusal,
    })?;
    DONE
}

/// A missing subscription, told as Pulsar does; a missing topic says so itself.
fn absence(failure: plerion_broker::Failure, subscription: &str, topic: &str) -> Refusal {
    if failure.is_absence() {
        failure.into()
    } else {
        Refusal::from(failure).or_not_found(&not_found(subscription, topic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_goes_on_at_its_message() {
        assert_eq!(remaining(0, 3), [0b111]);
        assert_eq!(remaining(2, 3), [0b100]);
        assert_eq!(remaining(64, 66), [0, 0b11]);
        assert_eq!(remaining(0, 64), [-1]);
    }
}
