//! Which bundle is which: names held once for each namespace, and found by range.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bundle::BundleRange;
use crate::names::BundleName;

/// A namespace and its bundles.
#[derive(Clone, Debug)]
pub(super) struct Namespace {
    pub(super) name: Arc<str>,
    /// Its bundles as indices of slots, by lower end.
    slots: Vec<u32>,
}

/// Every known namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    by_name: HashMap<Arc<str>, u32>,
    all: Vec<Namespace>,
}

/// The part of a bundle's name that tells it from the others of its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) namespace: u32,
    pub(super) lower: u32,
    pub(super) upper: u32,
}

impl Names {
    /// The key of a bundle of a known namespace. `None` too for a name without a range: such a bundle is nobody's to
    /// balance.
    pub(super) fn key(&self, bundle: &BundleName) -> Option<Key> {
        let (namespace, range) = parts(bundle)?;
        Some(Key { namespace: *self.by_name.get(namespace)?, lower: range.lower(), upper: range.upper() })
    }

    /// As [`Names::key`], and the namespace is known afterwards.
    pub(super) fn learn(&mut self, bundle: &BundleName) -> Option<Key> {
        let (namespace, range) = parts(bundle)?;
        let known = self.by_name.get(namespace).copied();
        let namespace = match known {
            Some(known) => known,
            None => self.add(namespace.into())?,
        };
        Some(Key { namespace, lower: range.lower(), upper: range.upper() })
    }

    /// Adds a namespace that is not known yet.
    pub(super) fn add(&mut self, name: Arc<str>) -> Option<u32> {
        let number = u32::try_from(self.all.len()).ok()?;
        self.by_name.insert(Arc::clone(&name), number);
        self.all.push(Namespace { name, slots: Vec::new() });
        Some(number)
    }

    pub(super) fn all(&self) -> &[Namespace] {
        &self.all
    }

    /// The name of the bundle with this key.
    pub(super) fn name(&self, key: Key) -> BundleName {
        let namespace = self.all.get(key.namespace as usize).map_or("", |namespace| &namespace.name);
        format!("{namespace}/0x{:08x}_0x{:08x}", key.lower, key.upper).into()
    }

    /// The slot of a bundle, if it has one. `lower` tells the lower end of a slot.
    pub(super) fn find(&self, key: Key, keys: impl Fn(u32) -> Key) -> Option<u32> {
        let slots = &self.all.get(key.namespace as usize)?.slots;
        let first = slots.partition_point(|slot| keys(*slot).lower < key.lower);
        slots[first..].iter().copied().take_while(|slot| keys(*slot).lower == key.lower).find(|slot| keys(*slot) == key)
    }

    /// Notes that a bundle has a slot.
    pub(super) fn insert(&mut self, key: Key, slot: u32, keys: impl Fn(u32) -> Key) {
        let Some(namespace) = self.all.get_mut(key.namespace as usize) else { return };
        let place = namespace.slots.partition_point(|slot| keys(*slot).lower <= key.lower);
        if namespace.slots.len() == namespace.slots.capacity() {
            // Small steps: doubling would leave up to half of the memory unused.
            namespace.slots.reserve_exact(namespace.slots.len() / 8 + 4);
        }
        namespace.slots.insert(place, slot);
    }

    /// Notes that a bundle has no slot any more.
    pub(super) fn remove(&mut self, key: Key, slot: u32) {
        if let Some(namespace) = self.all.get_mut(key.namespace as usize) {
            namespace.slots.retain(|known| *known != slot);
        }
    }
}

fn parts(bundle: &BundleName) -> Option<(&str, BundleRange)> {
    let (namespace, range) = bundle.rsplit_once('/')?;
    let range = match plain(range) {
        Some(range) => range,
        None => range.parse().ok()?,
    };
    Some((namespace, range))
}

/// Reads the one form in which names are written, fast.
fn plain(text: &str) -> Option<BundleRange> {
    let bytes = text.as_bytes();
    if bytes.len() != 21 || &bytes[..2] != b"0x" || &bytes[10..13] != b"_0x" {
        return None;
    }
    BundleRange::new(hexadecimal(&bytes[2..10])?, hexadecimal(&bytes[13..])?).ok()
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |value, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u32::from(digit))
    })
}
