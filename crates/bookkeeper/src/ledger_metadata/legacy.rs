//! Format 1: lines of text. Read only.
//!
//! Quorum, ensemble size and length have a line each; then each segment has one, its first entry and its bookies
//! separated by tabs; a last line says where the ledger was closed, if it was.

use super::{Draft, LedgerMetadata, MetadataError, Segment, bookie};

/// What stands in place of the last entry while the ledger is being recovered.
const IN_RECOVERY: i64 = -102;

const BAD_LINE: MetadataError = MetadataError::Malformed("a line is not as it must be");

pub(super) fn decode(bytes: &[u8]) -> Result<LedgerMetadata, MetadataError> {
    let text = std::str::from_utf8(bytes).map_err(|_| MetadataError::Malformed("a text is not UTF-8"))?;
    let mut lines = text.lines();
    let mut number = || lines.next().and_then(|line| line.parse::<i64>().ok()).ok_or(BAD_LINE);
    let mut draft = Draft {
        write: Some(number()?),
        ensemble: Some(number()?),
        length: number()?,
        state: Some(1),
        ..Draft::default()
    };
    for line in lines.filter(|line| !line.is_empty()) {
        let (first, rest) = line.split_once('\t').ok_or(BAD_LINE)?;
        let first = first.parse().map_err(|_| BAD_LINE)?;
        if rest == "CLOSED" {
            if first == IN_RECOVERY {
                draft.state = Some(2);
            } else {
                (draft.state, draft.last) = (Some(3), Some(first));
            }
            break;
        }
        let ensemble = rest.split('\t').map(bookie).collect::<Result<_, _>>()?;
        draft.segments.push(Segment { first, ensemble });
    }
    draft.finish()
}
