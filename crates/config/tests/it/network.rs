//! Which sockets are opened, and what clients are told.

use plerion_config::{Problem, Scheme, Settings, Sources};

fn settings(arguments: &[&str]) -> Settings {
    resolve(arguments).expect("valid")
}

fn resolve(arguments: &[&str]) -> Result<Settings, Vec<Problem>> {
    let sources =
        arguments.iter().try_fold(Sources::new(), |sources, text| sources.argument(text)).expect("assignments");
    sources.resolve().map(|(settings, _)| settings).map_err(|problems| problems.0)
}

#[test]
fn an_address_beyond_this_machine_needs_the_explicit_switch() {
    for arguments in [
        &["bindAddress=0.0.0.0", "webServicePort="][..],
        &["bindAddress=::", "webServicePort="],
        &["bindAddresses=out:pulsar://192.0.2.1:6650"],
    ] {
        let problems = resolve(arguments).expect_err("refused");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].to_string().contains("listenOffLoopback=true"), "{}", problems[0]);
        settings(&[arguments, &["listenOffLoopback=true"]].concat());
    }
}

#[test]
fn sockets_are_opened_for_both_ports_and_every_bind_address() {
    let network = settings(&["brokerServicePort=0", "bindAddresses=inner:pulsar://127.0.0.2:7000"]).network;
    let binds: Vec<_> = network.binds().into_iter().map(|b| (b.listener, b.scheme, b.host, b.port)).collect();
    assert_eq!(
        binds,
        [
            (None, Scheme::Pulsar, "127.0.0.1".into(), 0),
            (None, Scheme::Http, "127.0.0.1".into(), 8080),
            (Some("inner".into()), Scheme::Pulsar, "127.0.0.2".into(), 7000),
        ]
    );
    assert_eq!(settings(&["webServicePort="]).network.binds().len(), 1);
    assert!(resolve(&["bindAddresses=a:pulsar+ssl://127.0.0.1:6651"]).is_err());
}

#[test]
fn clients_are_told_an_address_they_can_reach() {
    assert_eq!(settings(&[]).network.advertised_host(), "127.0.0.1");
    let everywhere = ["bindAddress=0.0.0.0", "listenOffLoopback=true"];
    assert_eq!(settings(&everywhere).network.advertised_host(), "localhost");
    let told = [&everywhere[..], &["advertisedAddress=broker.example"]].concat();
    assert_eq!(settings(&told).network.advertised_host(), "broker.example");
}

#[test]
fn a_listener_is_asked_for_by_name_or_is_the_internal_one_or_the_first() {
    let listeners = "advertisedListeners=a:pulsar://a:1,a:http://a:2,b:pulsar://b:3";
    let host = |arguments: &[&str], listener, scheme| {
        settings(arguments).network.advertised(listener, scheme).map(|endpoint| endpoint.url())
    };
    assert_eq!(host(&[listeners], Some("b"), Scheme::Pulsar).as_deref(), Some("pulsar://b:3"));
    assert_eq!(host(&[listeners], None, Scheme::Http).as_deref(), Some("http://a:2"));
    assert_eq!(host(&[listeners, "internalListenerName=b"], None, Scheme::Pulsar).as_deref(), Some("pulsar://b:3"));
    assert_eq!(host(&[listeners], Some("c"), Scheme::Pulsar), None);
    assert_eq!(host(&[], None, Scheme::Pulsar), None);
}
