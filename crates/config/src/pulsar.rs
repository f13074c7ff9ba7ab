//! The keys that Pulsar 4.0 brokers know and that have no effect here.

use crate::{Origin, Problem};

/// Every name, sorted: the fields of Pulsar's configuration, and what else its configuration files set.
const NAMES: &str = include_str!("pulsar_keys.txt");

/// Whether a Pulsar broker knows the key.
pub(crate) fn knows(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Every key that a Pulsar broker knows.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.lines()
}

/// A key that asks for protection, and that must not be passed over in silence.
struct Protection {
    key: &'static str,
    only: &'static str,
    why: &'static str,
}

const NO_TLS: &str = "TLS is not supported";
const NO_AUTHENTICATION: &str = "authentication is not supported";

const PROTECTIONS: &[Protection] = &[
    Protection { key: "authenticationEnabled", only: "false", why: NO_AUTHENTICATION },
    Protection { key: "authorizationEnabled", only: "false", why: "authorization is not supported" },
    Protection { key: "authenticateMetricsEndpoint", only: "false", why: NO_AUTHENTICATION },
    Protection { key: "brokerServicePortTls", only: "", why: NO_TLS },
    Protection { key: "webServicePortTls", only: "", why: NO_TLS },
    Protection { key: "tlsEnabled", only: "false", why: NO_TLS },
    Protection { key: "transactionCoordinatorEnabled", only: "false", why: "transactions are not supported" },
];

/// Refuses a value that asks for something that must not be passed over in silence.
pub(crate) fn refuse(name: &str, value: &str, origin: &Origin) -> Result<(), Problem> {
    match PROTECTIONS.iter().find(|protection| protection.key == name) {
        Some(Protection { key, only, why }) if !value.trim().eq_ignore_ascii_case(only) => {
            Err(Problem::Unsupported { key, value: value.to_owned(), origin: origin.clone(), why, only })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;

    #[test]
    fn names_are_sorted_and_unique() {
        let names: Vec<_> = names().collect();
        assert!(names.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_refused_key_is_one_of_pulsars_and_has_no_effect_otherwise() {
        for Protection { key, .. } in PROTECTIONS {
            assert!(knows(key), "{key}");
            assert!(key::find(key).is_none(), "{key} is supported and refused");
        }
    }
}
