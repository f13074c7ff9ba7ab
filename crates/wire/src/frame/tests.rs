use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1024;

fn frame(command: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = (4 + command.len() + payload.len()) as u32;
    [&total.to_be_bytes(), &(command.len() as u32).to_be_bytes(), command, payload].concat()
}

#[test]
fn splits_command_and_payload() {
    let bytes = frame(b"command", b"payload");
    assert_eq!(Frame::parse(&bytes), Ok(Frame { command: b"command", payload: b"payload" }));
    let bytes = frame(b"command", b"");
    assert_eq!(Frame::parse(&bytes), Ok(Frame { command: b"command", payload: b"" }));
}

#[test]
fn takes_parts_that_own_the_received_bytes() {
    let mut buf = BytesMut::from(&frame(b"command", b"payload")[..]);
    let received = buf.as_ptr_range();
    let bytes = take(&mut buf, LIMIT).unwrap().unwrap();
    let payload = bytes.slice_ref(Frame::parse(&bytes).unwrap().payload);
    assert_eq!(payload, b"payload"[..]);
    assert!(received.contains(&payload.as_ptr()), "the payload was copied");
}

#[test]
fn waits_for_the_whole_frame() {
    let bytes = frame(b"command", b"payload");
    for len in 0..bytes.len() {
        assert_eq!(peek(&bytes[..len], LIMIT), Ok(None), "at {len} bytes");
    }
    assert_eq!(peek(&bytes, LIMIT), Ok(Some(bytes.len())));
    assert_eq!(peek(&[&bytes[..], &[0xFF; 9]].concat(), LIMIT), Ok(Some(bytes.len())), "what follows does not matter");
}

#[test]
fn accepts_a_frame_of_exactly_the_limit() {
    let bytes = frame(b"c", &[0; LIMIT - 9]);
    assert_eq!(bytes.len(), LIMIT);
    assert_eq!(peek(&bytes, LIMIT), Ok(Some(LIMIT)));
    let bytes = frame(b"c", &[0; LIMIT - 8]);
    assert_eq!(peek(&bytes[..4], LIMIT), Err(FrameError::TooLarge { size: LIMIT + 1, limit: LIMIT }));
    assert_eq!(limit(5_242_880), 5_253_120);
}

#[test]
fn refuses_impossible_sizes_as_soon_as_they_are_visible() {
    let sizes = |total: u32, command: u32| [total.to_be_bytes(), command.to_be_bytes()].concat();
    assert_eq!(peek(&sizes(u32::MAX, 0)[..4], LIMIT), Err(FrameError::TooLarge { size: 1 << 32 | 3, limit: LIMIT }));
    for total in 0..=4 {
        assert_eq!(peek(&sizes(total, 0)[..4], LIMIT), Err(FrameError::TooSmall(total as usize)));
    }
    assert_eq!(peek(&sizes(9, 0), LIMIT), Err(FrameError::CommandSize { command: 0, room: 5 }));
    assert_eq!(peek(&sizes(9, 6), LIMIT), Err(FrameError::CommandSize { command: 6, room: 5 }));
    assert_eq!(peek(&sizes(9, 5), LIMIT), Ok(None));
}

proptest! {
    #[test]
    fn cuts_a_stream_into_its_frames(
        frames in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..40), prop::collection::vec(any::<u8>(), 0..40)), 0..8),
        reads in prop::collection::vec(1_usize..50, 1..20),
    ) {
        let stream: Vec<u8> = frames.iter().flat_map(|(command, payload)| frame(command, payload)).collect();
        let (mut buf, mut cut, mut rest) = (BytesMut::new(), Vec::new(), &stream[..]);
        for read in reads.iter().cycle() {
            while let Some(bytes) = take(&mut buf, LIMIT).unwrap() {
                let Frame { command, payload } = Frame::parse(&bytes).unwrap();
                cut.push((command.to_vec(), payload.to_vec()));
            }
            if rest.is_empty() {
                break;
            }
            let (received, later) = rest.split_at((*read).min(rest.len()));
            buf.extend_from_slice(received);
            rest = later;
        }
        prop_assert_eq!(cut, frames);
        prop_assert!(buf.is_empty());
    }

    #[test]
    fn what_peek_accepts_parses(bytes in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..64)) {
        if let Ok(Some(len)) = peek(&bytes, 64) {
            prop_assert!(Frame::parse(&bytes[..len]).is_ok());
        }
        let _ = Frame::parse(&bytes);
    }
}
