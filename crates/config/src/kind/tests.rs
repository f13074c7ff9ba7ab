use std::time::Duration;

use super::address::{Endpoint, Endpoints, Host, Port, Scheme, is_loopback};
use super::choice::{SubscriptionType, TopicType};
use super::number::{Bytes, Count, Megabytes, Millis, Minutes, OrNone, Seconds, Signed};
use super::*;

#[test]
fn numbers_are_whole_and_within_their_range() {
    assert_eq!(Count::parse("5", Some(&(1..=10))), Some(5));
    for text in ["0", "11", "", "5.0", "five", "5s", "99999999999999999999"] {
        assert_eq!(Count::parse(text, Some(&(1..=10))), None, "{text}");
    }
    assert_eq!(Count::parse("4294967296", None), None);
    assert_eq!(Count::accepts(Some(&(1..=10))), "a whole number from 1 to 10");
    assert_eq!(Seconds::accepts(Some(&(1..=10))), "a whole number of seconds from 1 to 10");
    assert_eq!(Signed::<Minutes>::parse("-1", Some(&(-1..=100))), Some(-1));
    assert_eq!(Signed::<Minutes>::parse("-2", Some(&(-1..=100))), None);
}

#[test]
fn quantities_have_units() {
    assert_eq!(Seconds::parse("30", None), Some(Duration::from_secs(30)));
    assert_eq!(Millis::parse("30", None), Some(Duration::from_millis(30)));
    assert_eq!(Minutes::parse("4294967295", None), Some(Duration::from_secs(4_294_967_295 * 60)));
    assert_eq!(Megabytes::parse("4294967295", None), Some(4_294_967_295 << 20));
    assert_eq!(Bytes::parse("9223372036854775807", None), Some(i64::MAX as u64));
}

#[test]
fn none_is_written_as_nothing_zero_or_less() {
    for text in ["", "0", "-1"] {
        assert_eq!(OrNone::<Count>::parse(text, Some(&(5..=9))), Some(None), "{text}");
    }
    assert_eq!(OrNone::<Count>::parse("5", Some(&(5..=9))), Some(Some(5)));
    assert_eq!(OrNone::<Count>::parse("4", Some(&(5..=9))), None);
}

#[test]
fn choices_are_read_in_any_case_and_listed() {
    assert_eq!(TopicType::parse("Non-Partitioned", None), Some(TopicType::NonPartitioned));
    assert_eq!(TopicType::parse("none", None), None);
    assert_eq!(TopicType::accepts(None), "non-partitioned | partitioned");
    let types = SetOf::<SubscriptionType>::parse("Shared, key_shared,", None).expect("valid");
    assert_eq!(types.into_iter().collect::<Vec<_>>(), [SubscriptionType::Shared, SubscriptionType::KeyShared]);
    for text in ["Shared,Private", "", ","] {
        assert_eq!(SetOf::<SubscriptionType>::parse(text, None), None, "{text}");
    }
    assert_eq!(Switch::parse("TRUE", None), Some(true));
    assert_eq!(Switch::parse("yes", None), None);
}

#[test]
fn hosts_have_no_port_and_ports_may_be_absent() {
    assert_eq!(Host::parse("[::1]", None), Some("::1".into()));
    for text in ["", "host:6650", "a b", "pulsar://host", "host/"] {
        assert_eq!(Host::parse(text, None), None, "{text}");
    }
    assert_eq!(Port::parse("", None), Some(None));
    assert_eq!(Port::parse("0", None), Some(Some(0)));
    assert_eq!(Port::parse("65536", None), None);
}

#[test]
fn loopback_is_what_no_other_machine_reaches() {
    for host in ["localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "::1"] {
        assert!(is_loopback(host), "{host}");
    }
    for host in ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org"] {
        assert!(!is_loopback(host), "{host}");
    }
}

#[test]
fn endpoints_name_listener_scheme_host_and_port() {
    let parsed = Endpoints::parse("inner:pulsar://10.0.0.1:6650, outer:pulsar+ssl://[2001:db8::1]:6651/", None);
    let expected = [("inner", Scheme::Pulsar, "10.0.0.1", 6650), ("outer", Scheme::PulsarTls, "2001:db8::1", 6651)];
    let expected = expected.map(|(listener, scheme, host, port)| Endpoint {
        listener: listener.into(),
        scheme,
        host: host.into(),
        port,
    });
    assert_eq!(parsed.as_deref(), Some(expected.as_slice()));
    assert_eq!(expected[1].url(), "pulsar+ssl://[2001:db8::1]:6651");
    assert_eq!(Endpoints::parse("", None), Some(Vec::new()));
    for text in [
        "pulsar://host:6650",
        "a:pulsar://host",
        "a:ftp://host:1",
        ":pulsar://host:1",
        "a:pulsar://:1",
        "a:pulsar://one:1,a:pulsar://two:2",
    ] {
        assert_eq!(Endpoints::parse(text, None), None, "{text}");
    }
}
