//! Damage as it may arrive from a broken or hostile peer.

use proptest::{prelude::*, sample::Index};

#[derive(Clone, Debug)]
pub(crate) enum Damage {
    Set(Index, u8),
    Remove(Index),
    Insert(Index, u8),
    Truncate(Index),
}

pub(crate) fn arb_damage() -> impl Strategy<Value = Vec<Damage>> {
    let one = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        any::<Index>().prop_map(Damage::Remove),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        any::<Index>().prop_map(Damage::Truncate),
    ];
    prop::collection::vec(one, 1..4)
}

pub(crate) fn damaged(mut bytes: Vec<u8>, damage: &[Damage]) -> Vec<u8> {
    for one in damage {
        let len = bytes.len();
        match one {
            Damage::Insert(at, byte) => bytes.insert(at.index(len + 1), *byte),
            _ if len == 0 => {}
            Damage::Set(at, byte) => bytes[at.index(len)] = *byte,
            Damage::Remove(at) => drop(bytes.remove(at.index(len))),
            Damage::Truncate(at) => bytes.truncate(at.index(len)),
        }
    }
    bytes
}
