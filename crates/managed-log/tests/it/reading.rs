use plerion_ledger::{LedgerId, ReadError};
use plerion_managed_log::{LogEntry, ReadStatus};
use plerion_subscription::{Layout, Position};

use crate::topic::Topic;
use crate::world::{TOPIC, World, on_shard};

/// A topic of `count` entries, whose texts are their times, in ledgers of five.
async fn topic_with(world: &World, times: &[u64]) -> (Topic, Vec<Position>) {
    let bundle = world.bundle().await;
    let topic = Topic::open(&bundle, TOPIC).await;
    let mut positions = Vec::new();
    for time in times {
        positions.extend(topic.publish([time.to_string()]).await);
    }
    (topic, positions)
}

fn positions_of(entries: &[LogEntry]) -> Vec<Position> {
    entries.iter().map(|entry| entry.position).collect()
}

fn time_of(bytes: &bytes::Bytes) -> Option<u64> {
    std::str::from_utf8(bytes).unwrap().parse().ok().filter(|&time| time != 0)
}

#[test]
fn reads_cross_ledgers_and_keep_their_limits() {
    on_shard(async {
        let world = World::new();
        let (topic, all) = topic_with(&world, &[10; 17]).await;
        for (from, to, limit, expected) in [
            (Position::EARLIEST, Position::LATEST, 100, 0..17),
            (all[3], all[11], 100, 3..12),
            (all[3], all[11], 4, 3..7),
            (all[16], all[16], 4, 16..17),
            (all[9], all[3], 4, 0..0),
            (Position::new(all[4].ledger, 99), Position::LATEST, 2, 5..7),
            (all[0], Position::LATEST, 0, 0..0),
        ] {
            let mut cached = Vec::new();
            let status = topic.log.read_cached(from, to, limit, usize::MAX, &mut cached);
            assert_eq!(positions_of(&cached), all[expected.clone()], "{from} to {to}");
            let reading = topic.log.read(from, to, limit, usize::MAX).await.unwrap();
            assert_eq!((reading.entries, reading.status), (cached, status));
            let next = all.get(expected.end).copied().filter(|next| *next <= to && from <= to);
            assert_eq!(status, next.map_or(ReadStatus::Complete, |next| ReadStatus::Limited { next }));
        }
        let mut cached = Vec::new();
        topic.log.read_cached(all[0], Position::LATEST, 100, 7, &mut cached);
        assert!((3..=4).contains(&cached.len()), "about seven bytes");
        cached.clear();
        topic.log.read_cached(all[0], Position::LATEST, 100, 0, &mut cached);
        assert_eq!(cached.len(), 1, "at least one");
    });
}

#[test]
fn the_layout_of_a_log_is_that_of_its_entries() {
    on_shard(async {
        let world = World::new();
        let (topic, all) = topic_with(&world, &[10; 12]).await;
        let log = &topic.log;
        assert_eq!((log.first_position(), log.last_confirmed()), (Some(all[0]), all[11]));
        for (at, &position) in all.iter().enumerate() {
            assert_eq!(log.next_position(position), all.get(at + 1).copied());
            assert_eq!(log.previous_position(position), at.checked_sub(1).map(|at| all[at]));
            assert_eq!(log.count(position, Position::LATEST), 12 - at as u64);
            assert_eq!(log.position_after_n(position, 3), all[(at + 3).min(11)]);
            assert!(log.contains(position));
            assert_eq!(log.bytes_after(position), 2 * (11 - at as u64));
        }
        assert_eq!(log.bytes_after(Position::EARLIEST), log.bytes());
        assert_eq!(log.bytes_after(Position::LATEST), 0);
    });
}

#[test]
fn a_lost_entry_is_named_and_can_be_passed_over() {
    on_shard(async {
        let mut world = World::new();
        let (topic, all) = topic_with(&world, &[10; 12]).await;
        let lost = all[7];
        world.ledgers.corrupt(LedgerId(lost.ledger as u64), lost.entry as u64);
        let reading = topic.log.read(all[0], Position::LATEST, 100, usize::MAX).await.unwrap();
        assert_eq!(positions_of(&reading.entries), all[..7]);
        assert_eq!(reading.status, ReadStatus::Limited { next: lost });
        let mut cached = Vec::new();
        let status = topic.log.read_cached(lost, Position::LATEST, 100, usize::MAX, &mut cached);
        assert_eq!(status, ReadStatus::Miss { next: lost });
        let failure = topic.log.read(lost, Position::LATEST, 100, usize::MAX).await.unwrap_err();
        assert_eq!(failure.position, lost);
        assert!(matches!(failure.cause, ReadError::Corrupt { .. }) && !failure.is_retryable());
        let rest = topic.log.read(failure.resume, Position::LATEST, 100, usize::MAX).await.unwrap();
        assert_eq!(positions_of(&rest.entries), all[8..]);

        world.crash(0, false);
        world.config.skip_unreadable = true;
        let bundle = world.bundle().await;
        let topic = Topic::open(&bundle, TOPIC).await;
        assert_eq!(positions_of(&topic.entries().await), [&all[..7], &all[8..]].concat());
        assert_eq!(topic.log.stats().skipped_entries, 1);
    });
}

#[test]
fn a_lost_ledger_is_passed_over_as_a_whole() {
    on_shard(async {
        let world = World::new();
        let (topic, all) = topic_with(&world, &[10; 12]).await;
        let lost = all[5];
        world.ledgers.shard().delete(LedgerId(lost.ledger as u64)).await.unwrap();
        let failure = topic.log.read(lost, Position::LATEST, 100, usize::MAX).await.unwrap_err();
        assert!(matches!(failure.cause, ReadError::NoLedger(_)));
        let rest = topic.log.read(failure.resume, Position::LATEST, 100, usize::MAX).await.unwrap();
        assert_eq!(positions_of(&rest.entries), all[10..]);
    });
}

#[test]
fn the_last_entry_before_a_time_is_found() {
    on_shard(async {
        let world = World::new();
        // Zero stands for an entry without a time.
        let times = [0, 10, 20, 20, 0, 0, 30, 40, 40, 40, 50, 0, 0];
        let (topic, all) = topic_with(&world, &times).await;
        for before in 0..60 {
            let found = topic.log.find_by_publish_time(before, time_of).await.unwrap();
            let later = times.iter().position(|&time| time != 0 && time >= before).unwrap_or(times.len());
            let last = times[..later].iter().rposition(|&time| time != 0);
            assert_eq!(found, last.map(|at| all[at]), "before {before}");
        }
        let lost = all[7];
        world.ledgers.corrupt(LedgerId(lost.ledger as u64), lost.entry as u64);
        assert_eq!(topic.log.find_by_publish_time(41, time_of).await.unwrap(), Some(all[9]));
    });
}
