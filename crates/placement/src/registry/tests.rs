use super::{ManagerError, ManagerKind, Registry};

#[test]
fn managers_by_class_name_and_short_name() {
    for kind in [ManagerKind::Simple, ManagerKind::Modular, ManagerKind::Extensible, ManagerKind::Noop] {
        assert_eq!(ManagerKind::named(kind.class_name()), Some(kind));
    }
    assert_eq!(ManagerKind::named("extensible"), Some(ManagerKind::Extensible));
    let wrapper = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerWrapper";
    assert_eq!(ManagerKind::named(wrapper), Some(ManagerKind::Extensible));
}

#[test]
fn a_wrong_manager_falls_back_to_simple_loudly() {
    let (kind, warning) = ManagerKind::named_or_simple("org.example.Mine");
    assert_eq!(kind, ManagerKind::Simple);
    assert_eq!(
        warning.unwrap().to_string(),
        "there is no load manager \"org.example.Mine\"; known are simple, modular, extensible, noop"
    );
    assert_eq!(ManagerKind::named_or_simple(" "), (ManagerKind::Simple, None));
    assert_eq!(ManagerKind::named("org.example.Mine"), None);
}

#[test]
fn every_policy_answers_to_its_class_name() {
    let registry = Registry::default();
    let class = |name: &str| format!("org.apache.pulsar.broker.loadbalance.impl.{name}");
    for (name, short) in [
        ("LeastLongTermMessageRate", "least-long-term-message-rate"),
        ("LeastResourceUsageWithWeight", "least-resource-usage-with-weight"),
        ("RoundRobinBrokerSelector", "round-robin"),
        ("AvgShedder", "avg"),
    ] {
        assert_eq!(registry.placement(&class(name)).unwrap().name(), short);
        assert_eq!(registry.placement(short).unwrap().name(), short);
    }
    for (name, short) in [
        ("ThresholdShedder", "threshold"),
        ("OverloadShedder", "overload"),
        ("UniformLoadShedder", "uniform"),
        ("AvgShedder", "avg"),
    ] {
        assert_eq!(registry.shedder(&class(name)).unwrap().name(), short);
        assert_eq!(registry.shedder(short).unwrap().name(), short);
    }
    for name in [
        "range_equally_divide",
        "topic_count_equally_divide",
        "specified_positions_divide",
        "flow_or_qps_equally_divide",
    ] {
        assert_eq!(registry.splitter(name).unwrap().name(), name);
    }
    for filter in crate::extensible::default_filters().iter().chain(&crate::modular::default_filters()) {
        assert_eq!(registry.filter(filter.name()).unwrap().name(), filter.name());
    }
}

#[test]
fn the_avg_placement_needs_the_avg_shedder() {
    let registry = Registry::default();
    assert!(registry.modular_manager("avg", "avg").is_ok());
    assert!(registry.modular_manager("least-long-term-message-rate", "avg").is_ok());
    let error = registry.modular_manager("avg", "threshold").err();
    assert_eq!(error, Some(ManagerError::AvgAlone { shedder: "threshold".to_owned() }));
    assert!(matches!(registry.modular_manager("nope", "avg").err(), Some(ManagerError::Unknown(_))));
}
