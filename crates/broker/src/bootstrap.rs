//! What a cluster has from its first start on.

use plerion_config::Settings;
use plerion_resources::{Bootstrap, ClusterData};

use crate::addresses::Addresses;

/// The cluster as others find it, with its first tenants and namespaces.
pub(crate) fn of(settings: &Settings, addresses: &Addresses) -> Bootstrap {
    let own = addresses.of(None).unwrap_or_default();
    let urls = ClusterData {
        service_url: own.web,
        service_url_tls: own.web_tls,
        broker_service_url: own.broker,
        broker_service_url_tls: own.broker_tls,
        ..ClusterData::default()
    };
    Bootstrap { bundles: settings.cluster.default_bundles, ..Bootstrap::new(&settings.cluster.name, urls) }
}
