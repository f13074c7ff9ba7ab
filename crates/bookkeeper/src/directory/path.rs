//! Paths of ledgers: the digits of the number, cut into levels.

use plerion_ledger::LedgerId;

/// Numbers from here on have nineteen digits in their path, those below ten.
const FIRST_LONG: u64 = 0x7fff_ffff;

/// The path of a ledger below the root, such as `00/0000/L0007`.
pub fn ledger_path(ledger: LedgerId) -> String {
    if ledger.0 < FIRST_LONG {
        let digits = format!("{:010}", ledger.0);
        format!("{}/{}/L{}", &digits[..2], &digits[2..6], &digits[6..])
    } else {
        let digits = format!("{:019}", ledger.0);
        let rest = &digits[digits.len() - 16..];
        format!("{}/{}/{}/{}/L{}", &digits[..digits.len() - 16], &rest[..4], &rest[4..8], &rest[8..12], &rest[12..])
    }
}

/// The ledger at a path below the root; `None` if it is not the path of one.
pub fn ledger_of(path: &str) -> Option<LedgerId> {
    let (levels, last) = path.rsplit_once("/L")?;
    let digits: String = levels.split('/').chain([last]).collect();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ledger = LedgerId(digits.parse().ok()?);
    (ledger_path(ledger) == path).then_some(ledger)
}

/// Whether a name directly below the root can lead to ledgers.
pub(super) fn is_top_level(name: &str) -> bool {
    matches!(name.len(), 2 | 3) && name.bytes().all(|byte| byte.is_ascii_digit())
}
