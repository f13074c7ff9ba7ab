//! What must hold for any bytes whatsoever.

use plerion_wire::{Command, Frame, MessageMetadata, Payload, batch, frame, metadata};

/// Reads bytes as a connection would, as far as they go.
pub(crate) fn stream(mut bytes: &[u8]) {
    while let Ok(Some(len)) = frame::peek(bytes, frame::limit(5 << 20)) {
        let (frame, rest) = bytes.split_at(len);
        let frame = Frame::parse(frame).expect("peek has checked the sizes");
        assert_eq!(frame.command.len() + frame.payload.len() + 8, len);
        command(frame.command);
        payload(frame.payload);
        bytes = rest;
    }
}

fn command(bytes: &[u8]) {
    let ids = match Command::decode(bytes) {
        Ok(Command::Ack(ack)) => {
            ack.properties.iter().for_each(drop);
            ack.message_ids
        }
        Ok(Command::Redeliver(redeliver)) => redeliver.message_ids,
        _ => return,
    };
    assert_eq!(ids.iter().count(), ids.len(), "an id that was counted cannot be read");
    let words: usize = ids.iter().map(|id| id.ack_set.iter().count()).sum();
    assert!(words <= bytes.len());
}

fn payload(bytes: &[u8]) {
    let Ok(payload) = Payload::parse(bytes) else { return };
    let _ = (payload.verify(), payload.decode_broker_entry());
    assert!(bytes.ends_with(payload.without_broker_entry()));
    if let Some(part) = payload.missing_checksum() {
        let sent = [&part, payload.without_broker_entry()].concat();
        assert_eq!(Payload::parse(&sent).and_then(|payload| payload.verify()), Ok(()));
    }
    self::metadata(payload.metadata);
    let sum: usize =
        batch::messages(payload.body).flatten().map(|one| 4 + one.metadata.len() + one.payload.len()).sum();
    assert!(sum <= payload.body.len());
}

/// Reads bytes as message metadata.
pub(crate) fn metadata(bytes: &[u8]) {
    let peeked = MessageMetadata::peek(bytes);
    if let Ok(full) = metadata::decode(bytes) {
        let peeked = peeked.expect("a peek sees less");
        assert_eq!(peeked.producer_name, full.producer_name);
        assert_eq!(peeked.sequence_id, full.sequence_id);
        assert_eq!(peeked.num_messages_in_batch, full.num_messages_in_batch);
    }
}
