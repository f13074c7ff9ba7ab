//! Hashes that moved away from a consumer which still holds messages of them (PIP-379).

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::Owner;

/// A hash whose former owner has to acknowledge, or lose, what it holds before the new owner gets more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainingHash {
    /// The sticky hash.
    pub hash: u16,
    /// Its former owner.
    pub owner: Owner,
    /// How many entries of the hash it still holds.
    pub held: u32,
    /// How often an entry was held back because of this.
    pub blocked: u32,
}

/// A hash is draining at another consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("consumer {holder} is already draining hash {hash}, consumer {newcomer} cannot")]
pub struct AlreadyDraining {
    /// The sticky hash.
    pub hash: u16,
    /// Who drains it.
    pub holder: Owner,
    /// Who was to be added.
    pub newcomer: Owner,
}

/// The draining hashes of a subscription.
#[derive(Clone, Debug, Default)]
pub struct Draining {
    hashes: HashMap<u16, DrainingHash, FixedState>,
}

impl Draining {
    /// Whether no hash is draining.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The draining hashes, in no order.
    pub fn iter(&self) -> impl Iterator<Item = DrainingHash> {
        self.hashes.values().copied()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.hashes.clear();
    }

    /// Notes one entry of `hash`, not 0, that `owner` holds although the hash is no longer its own.
    ///
    /// # Errors
    /// If the hash is draining at another consumer, which keeps it.
    pub fn add(&mut self, owner: Owner, hash: u16) -> Result<(), AlreadyDraining> {
        debug_assert_ne!(hash, 0, "0 stands for no hash");
        let entry = self.hashes.entry(hash).or_insert(DrainingHash { hash, owner, held: 0, blocked: 0 });
        if entry.owner != owner {
            return Err(AlreadyDraining { hash, holder: entry.owner, newcomer: owner });
        }
        entry.held += 1;
        Ok(())
    }

    /// Notes that `owner` released one entry of `hash`. Returns what is known of the hash if that was the last one: it
    /// is free then.
    pub fn release(&mut self, owner: Owner, hash: u16) -> Option<DrainingHash> {
        let entry = self.hashes.get_mut(&hash).filter(|entry| entry.owner == owner)?;
        entry.held -= 1;
        if entry.held > 0 { None } else { self.hashes.remove(&hash) }
    }

    /// Whether an entry of `hash` must not go to `owner`. Counts the attempt; a hash that came back to its draining
    /// consumer is draining no longer.
    pub fn blocks(&mut self, owner: Owner, hash: u16) -> bool {
        match self.hashes.get_mut(&hash) {
            None => false,
            Some(entry) if entry.owner == owner => {
                self.hashes.remove(&hash);
                false
            }
            Some(entry) => {
                entry.blocked += 1;
                true
            }
        }
    }

    /// Whether [`Draining::blocks`] would say so, without counting.
    pub fn would_block(&self, owner: Owner, hash: u16) -> bool {
        self.hashes.get(&hash).is_some_and(|entry| entry.owner != owner)
    }
}
