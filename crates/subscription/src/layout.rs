//! What a subscription has to know of its log.

use crate::Position;

/// The shape of a topic's log: which confirmed entries it holds now.
///
/// Ledgers may be empty, and whole ledgers vanish from the front when the log is trimmed. An *entry* here is one that
/// is confirmed (readable) and not trimmed.
pub trait Layout {
    /// The place of the first entry; where there is none, of the first entry to come.
    fn first(&self) -> Position;

    /// The last confirmed position: of the last entry; where there is none, a place before the first entry to come
    /// and not before any entry there ever was. Never decreases.
    fn last(&self) -> Position;

    /// The first entry at or after `from`.
    fn ceiling(&self, from: Position) -> Option<Position>;

    /// The last entry at or before `up_to`.
    fn floor(&self, up_to: Position) -> Option<Position>;

    /// How many entries there are from `from` to `up_to`, both included; 0 if `from` is greater.
    fn count(&self, from: Position, up_to: Position) -> u64;

    /// Whether there is an entry at `position`.
    fn contains(&self, position: Position) -> bool {
        self.ceiling(position) == Some(position)
    }
}
