use super::*;

fn producer(key: u64, name: &str, access: Access) -> Producer {
    Producer {
        key: ProducerKey(key),
        connection: key,
        producer_id: 1,
        client: 1,
        name: name.to_owned(),
        user_provided_name: true,
        epoch: 0,
        access,
        topic_epoch: None,
    }
}

fn admit(producers: &mut Producers, producer: Producer) -> Admission {
    producers.add(producer).expect("admitted")
}

const KEY: fn(u64) -> ProducerKey = ProducerKey;

#[test]
fn shared_producers_come_and_go() {
    let mut producers = Producers::default();
    for key in 0..3 {
        let admission = admit(&mut producers, producer(key, &format!("p{key}"), Access::Shared));
        assert_eq!(admission, Admission { ready: true, topic_epoch: None, replaced: None, fenced: vec![] });
    }
    assert_eq!(producers.remove(KEY(1)), None);
    assert_eq!(producers.remove(KEY(1)), None);
    assert_eq!(producers.len(), 2);
    assert!(producers.contains(KEY(0)) && !producers.contains(KEY(1)));
}

/// Newcomer's mode against what is there: ready, waiting or refused with a code.
#[test]
fn access_modes() {
    use Access::*;
    use Code::*;
    #[derive(Debug, PartialEq)]
    enum Is {
        Ready,
        Waiting,
        Refused(Code),
    }
    let table = [
        (None, Shared, Is::Ready),
        (None, Exclusive, Is::Ready),
        (None, WaitForExclusive, Is::Ready),
        (None, ExclusiveWithFencing, Is::Ready),
        (Some(Shared), Shared, Is::Ready),
        (Some(Shared), Exclusive, Is::Refused(ProducerFenced)),
        (Some(Shared), WaitForExclusive, Is::Waiting),
        (Some(Shared), ExclusiveWithFencing, Is::Ready),
        (Some(Exclusive), Shared, Is::Refused(ProducerBusy)),
        (Some(Exclusive), Exclusive, Is::Refused(ProducerFenced)),
        (Some(Exclusive), WaitForExclusive, Is::Waiting),
        (Some(Exclusive), ExclusiveWithFencing, Is::Ready),
    ];
    for (present, newcomer, expected) in table {
        let mut producers = Producers::default();
        if let Some(access) = present {
            admit(&mut producers, producer(1, "a", access));
        }
        let outcome = match producers.add(producer(2, "b", newcomer)) {
            Ok(admission) if admission.ready => Is::Ready,
            Ok(_) => Is::Waiting,
            Err(refusal) => Is::Refused(refusal.code()),
        };
        assert_eq!(outcome, expected, "{newcomer:?} meets {present:?}");
    }
}

#[test]
fn a_waiting_producer_is_promoted_when_the_last_one_leaves() {
    let mut producers = Producers::new(Some(6), 0);
    admit(&mut producers, producer(1, "a", Access::Shared));
    admit(&mut producers, producer(2, "b", Access::Shared));
    assert!(!admit(&mut producers, producer(3, "c", Access::WaitForExclusive)).ready);
    assert!(!admit(&mut producers, producer(4, "d", Access::WaitForExclusive)).ready);
    assert_eq!(producers.remove(KEY(1)), None);
    assert_eq!(producers.remove(KEY(2)), Some(Promotion { key: KEY(3), topic_epoch: 7 }));
    assert_eq!(producers.remove(KEY(4)), None, "a waiter that leaves is forgotten");
    assert_eq!(producers.waiting_len(), 0);
    assert_eq!(producers.remove(KEY(3)), None);
    assert_eq!(producers.topic_epoch(), Some(7));
}

#[test]
fn who_waits_comes_before_newcomers_but_not_before_those_that_come_back() {
    let mut producers = Producers::default();
    admit(&mut producers, producer(1, "a", Access::Shared));
    assert!(!admit(&mut producers, producer(2, "b", Access::WaitForExclusive)).ready);
    let refusal = producers.add(producer(3, "c", Access::Shared)).expect_err("somebody waits");
    assert_eq!(refusal.code(), Code::ProducerBusy);
    let back = Producer { epoch: 1, ..producer(4, "a", Access::Shared) };
    assert_eq!(admit(&mut producers, back).replaced, Some(KEY(1)));
    assert_eq!(producers.remove(KEY(4)).map(|promotion| promotion.key), Some(KEY(2)));
}

#[test]
fn fencing_closes_the_holder_and_the_waiting() {
    let mut producers = Producers::default();
    assert_eq!(admit(&mut producers, producer(1, "a", Access::Exclusive)).topic_epoch, Some(0));
    assert!(!admit(&mut producers, producer(2, "b", Access::WaitForExclusive)).ready);
    let admission = admit(&mut producers, producer(3, "c", Access::ExclusiveWithFencing));
    assert_eq!(admission.fenced, [KEY(1), KEY(2)]);
    assert_eq!(admission.topic_epoch, Some(1));
    assert_eq!(producers.remove(KEY(1)), None, "the fenced one's close promotes nobody");
    assert!(producers.contains(KEY(3)));
}

#[test]
fn a_producer_that_comes_back_keeps_its_epoch_unless_fenced_meanwhile() {
    let mut producers = Producers::default();
    admit(&mut producers, producer(1, "a", Access::Exclusive));
    producers.remove(KEY(1));
    let back = Producer { topic_epoch: Some(0), ..producer(2, "a", Access::Exclusive) };
    assert_eq!(admit(&mut producers, back.clone()).topic_epoch, Some(0));
    admit(&mut producers, producer(3, "b", Access::ExclusiveWithFencing));
    producers.remove(KEY(3));
    let refusal = producers.add(Producer { key: KEY(4), ..back }).expect_err("fenced");
    assert_eq!(refusal, Refusal::EpochMoved { current: 1, own: 0 });
    assert_eq!(refusal.code(), Code::ProducerFenced);
}

#[test]
fn an_exclusive_owner_replaces_its_own_stale_session() {
    let mut producers = Producers::default();
    admit(&mut producers, producer(1, "a", Access::Exclusive));
    let back = Producer { epoch: 1, topic_epoch: Some(0), ..producer(2, "a", Access::Exclusive) };
    let admission = admit(&mut producers, back);
    assert_eq!((admission.replaced, admission.topic_epoch), (Some(KEY(1)), Some(0)));
    assert_eq!(producers.remove(KEY(1)), None);
    assert!(producers.contains(KEY(2)), "the late close of the old session does not touch the new one");
}

#[test]
fn a_taken_name_is_busy_after_a_liveness_check() {
    let mut producers = Producers::default();
    admit(&mut producers, producer(1, "my-name", Access::Shared));
    let refusal = producers.add(producer(2, "my-name", Access::Shared)).expect_err("taken");
    assert_eq!(refusal.code(), Code::ProducerBusy);
    assert_eq!(refusal.check_first(), Some(KEY(1)));
    assert!(refusal.to_string().contains("'my-name'"));
    producers.remove(KEY(1));
    assert!(admit(&mut producers, producer(2, "my-name", Access::Shared)).ready);
}

#[test]
fn bug_pulsar_21144_the_same_client_on_another_connection_replaces_itself() {
    let mut producers = Producers::default();
    admit(&mut producers, producer(1, "a", Access::Shared));
    let newer = Producer { epoch: 1, ..producer(2, "a", Access::Shared) };
    let stranger = Producer { client: 2, ..newer.clone() };
    assert!(producers.add(stranger).is_err());
    assert_eq!(admit(&mut producers, newer).replaced, Some(KEY(1)));
    assert_eq!(producers.len(), 1);
}

#[test]
fn a_generated_name_is_replaced_unless_the_newcomer_is_older() {
    let generated = |key, epoch| Producer {
        user_provided_name: false,
        client: key,
        epoch,
        ..producer(key, "standalone-0-1", Access::Shared)
    };
    let mut producers = Producers::default();
    admit(&mut producers, generated(1, 3));
    assert_eq!(admit(&mut producers, generated(2, 3)).replaced, Some(KEY(1)));
    assert!(producers.add(generated(3, 2)).is_err());
}

#[test]
fn the_limit_counts_others_than_the_replaced_one() {
    let mut producers = Producers::new(None, 2);
    admit(&mut producers, producer(1, "a", Access::Shared));
    admit(&mut producers, producer(2, "b", Access::Shared));
    let refusal = producers.add(producer(3, "c", Access::Shared)).expect_err("full");
    assert_eq!((refusal.code(), refusal), (Code::ProducerBusy, Refusal::TooMany));
    assert!(admit(&mut producers, Producer { epoch: 1, ..producer(4, "b", Access::Shared) }).ready);
}

#[test]
fn a_refusal_changes_nothing() {
    let mut producers = Producers::default();
    admit(&mut producers, producer(1, "a", Access::Exclusive));
    for access in [Access::Shared, Access::Exclusive] {
        assert!(producers.add(producer(2, "b", access)).is_err());
    }
    assert_eq!((producers.len(), producers.waiting_len(), producers.topic_epoch()), (1, 0, Some(0)));
}
