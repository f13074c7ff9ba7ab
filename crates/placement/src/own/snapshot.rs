//! All the policy knows, as bytes: field by field rather than bundle by bundle, so that neighbours are alike and compress
//! well.

use serde::{Deserialize, Serialize};

use super::broker::Broker;
use super::excursion::Excursions;
use super::names::Key;
use super::slot::{Slot, Traffic};
use super::{Detail, OwnBalancer};
use crate::balancer::BUCKETS;

/// What is small.
#[derive(Serialize, Deserialize)]
struct Head {
    brokers: Vec<Broker>,
    namespaces: Vec<String>,
    free: Vec<u32>,
    longest: u32,
    longest_at: u32,
    pending: Vec<((u32, u32, u32), i64)>,
    rests_until: i64,
    slots: usize,
    details: usize,
}

/// The fields of a slot, each as 32 bits.
const FIELDS: usize = 14;

fn fields(slot: &Slot) -> [u32; FIELDS] {
    let (odd_since, samples) = slot.hidden();
    let [a, b, c, d] = slot.mean.0.map(f32::to_bits);
    let Key { namespace, lower, upper } = slot.key;
    let flags = u32::from(samples) << 1 | u32::from(slot.free);
    let level = slot.level.to_bits();
    [
        namespace,
        lower,
        upper,
        slot.owner,
        slot.topics,
        a,
        b,
        c,
        d,
        level,
        odd_since,
        slot.cost.to_bits(),
        slot.moved,
        flags,
    ]
}

fn slot(fields: [u32; FIELDS]) -> Slot {
    let [namespace, lower, upper, owner, topics, a, b, c, d, level, odd_since, cost, moved, flags] = fields;
    let mut slot = Slot::new(Key { namespace, lower, upper });
    slot.owner = owner;
    slot.topics = topics;
    slot.mean = Traffic([a, b, c, d].map(f32::from_bits));
    slot.level = f32::from_bits(level);
    slot.cost = f32::from_bits(cost);
    slot.moved = moved;
    slot.free = flags & 1 == 1;
    slot.set_hidden(odd_since, u16::try_from(flags >> 1).unwrap_or(u16::MAX));
    slot
}

pub(super) fn write(balancer: &OwnBalancer) -> Vec<u8> {
    let mut details: Vec<(u32, Detail)> = balancer.details.iter().map(|(slot, detail)| (*slot, *detail)).collect();
    details.sort_by_key(|(slot, _)| *slot);
    let key = |key: &Key| (key.namespace, key.lower, key.upper);
    let head = Head {
        brokers: balancer.brokers.clone(),
        namespaces: balancer.names.all().iter().map(|namespace| namespace.name.to_string()).collect(),
        free: balancer.free.clone(),
        longest: balancer.excursions.longest,
        longest_at: balancer.excursions.at,
        pending: balancer.pending.iter().map(|(pending, since)| (key(pending), *since)).collect(),
        rests_until: balancer.rests_until,
        slots: balancer.slots.len(),
        details: details.len(),
    };
    let head = serde_json::to_vec(&head).unwrap_or_default();
    let mut bytes = Vec::with_capacity(8 + head.len() + balancer.slots.len() * FIELDS * 4 + details.len() * 72);
    bytes.extend((head.len() as u64).to_le_bytes());
    bytes.extend(head);
    let body = bytes.len();
    let planes = balancer.slots.len() * 4;
    bytes.resize(body + planes * FIELDS, 0);
    for (index, known) in balancer.slots.iter().enumerate() {
        for (field, value) in fields(known).into_iter().enumerate() {
            let at = body + field * planes + index * 4;
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
    }
    for (slot, detail) in details {
        bytes.extend(slot.to_le_bytes());
        detail.buckets.iter().for_each(|bucket| bytes.extend(bucket.to_le_bytes()));
        bytes.extend(detail.largest_topic.to_le_bytes());
    }
    bytes
}

/// Why bytes are no snapshot.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    /// They end too soon, or go on too long.
    #[error("it has not the length it says")]
    Length,
    /// What is small is not JSON of it.
    #[error("its head is unreadable: {0}")]
    Head(#[from] serde_json::Error),
    /// An index points nowhere.
    #[error("it names a namespace that it does not have")]
    Index,
}

pub(super) fn read(bytes: &[u8]) -> Result<OwnBalancer, Unreadable> {
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or(Unreadable::Length)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| Unreadable::Length)?;
    let (head, body) = rest.split_at_checked(length).ok_or(Unreadable::Length)?;
    let head: Head = serde_json::from_slice(head)?;
    let planes = head.slots.checked_mul(4).ok_or(Unreadable::Length)?;
    let slots = planes.checked_mul(FIELDS).ok_or(Unreadable::Length)?;
    let (body, details) = body.split_at_checked(slots).ok_or(Unreadable::Length)?;
    let entry = 4 * (BUCKETS + 2);
    if head.details.checked_mul(entry) != Some(details.len()) {
        return Err(Unreadable::Length);
    }
    let word = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes)
    };
    let mut balancer = OwnBalancer {
        by_id: (0_u32..).zip(&head.brokers).map(|(index, broker)| (broker.id.clone(), index)).collect(),
        brokers: head.brokers,
        free: head.free,
        excursions: Excursions { longest: head.longest, at: head.longest_at },
        rests_until: head.rests_until,
        ..OwnBalancer::default()
    };
    let key = |(namespace, lower, upper): (u32, u32, u32)| Key { namespace, lower, upper };
    balancer.pending = head.pending.into_iter().map(|(pending, since)| (key(pending), since)).collect();
    for name in head.namespaces {
        balancer.names.add(name.into());
    }
    let of = |index: usize| slot(std::array::from_fn(|field| word(body, field * planes + index * 4)));
    balancer.slots = (0..head.slots).map(of).collect();
    let mut order: Vec<u32> =
        (0_u32..).zip(&balancer.slots).filter(|(_, slot)| !slot.free).map(|(index, _)| index).collect();
    if balancer.slots.iter().any(|slot| slot.key.namespace as usize >= balancer.names.all().len())
        || balancer.free.iter().any(|slot| *slot as usize >= balancer.slots.len())
    {
        return Err(Unreadable::Index);
    }
    order.sort_by_key(|index| balancer.slots[*index as usize].key.lower);
    for index in order {
        let (slots, names) = (&balancer.slots, &mut balancer.names);
        names.insert(slots[index as usize].key, index, |slot| slots[slot as usize].key);
    }
    for detail in details.chunks_exact(entry) {
        let buckets = std::array::from_fn(|bucket| f32::from_bits(word(detail, 4 + 4 * bucket)));
        let largest_topic = f32::from_bits(word(detail, 4 + 4 * BUCKETS));
        let slot = word(detail, 0);
        if slot as usize >= balancer.slots.len() {
            return Err(Unreadable::Index);
        }
        balancer.details.insert(slot, Detail { buckets, largest_topic });
    }
    Ok(balancer)
}
