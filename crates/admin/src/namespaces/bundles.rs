//! The bundles of a namespace.

use axum::Json;
use plerion_broker::BundleName;
use plerion_placement::bundle::BundleRange;
use plerion_resources::BundlesData;

use super::life::ABSENT;
use crate::app::{DONE, Done};
use crate::permitted::{Namespace, Permitted};
use crate::query::Parameters;
use crate::refusal::Refusal;

/// Whether a segment of a path names a bundle: `0x00000000_0x40000000`.
pub(super) fn is_range(text: &str) -> bool {
    text.parse::<BundleRange>().is_ok()
}

pub(super) async fn list(at: Permitted<Namespace>) -> Result<Json<BundlesData>, Refusal> {
    let found = at.broker.resources().namespaces().bundles(&at.target.0).await;
    Ok(Json(found.map_err(|error| Refusal::from(error).or_not_found(ABSENT))?.value))
}

/// The bundle that the path names; it must be one of the namespace's.
pub(super) async fn named(at: &Permitted<Namespace>) -> Result<BundleName, Refusal> {
    let namespace = &at.target.0;
    let text = at.params.get("policy");
    let range: BundleRange =
        text.parse().map_err(|error| Refusal::invalid(format!("Invalid bundle range: {error}")))?;
    let bundles = at.broker.bundles(namespace).await.map_err(|failure| Refusal::from(failure).or_not_found(ABSENT))?;
    bundles.into_iter().find(|bundle| bundle.range == range).ok_or_else(|| {
        Refusal::invalid(format!("{text} is no bundle of {namespace}: GET /admin/v2/namespaces/{namespace}/bundles"))
    })
}

pub(super) async fn unload_all(at: Permitted<Namespace>) -> Done {
    let unloaded = at.broker.unload_namespace(&at.target.0).await;
    unloaded.map_err(|failure| Refusal::from(failure).or_not_found(ABSENT))?;
    DONE
}

pub(super) async fn unload(at: Permitted<Namespace>, query: Parameters) -> Done {
    let bundle = named(&at).await?;
    if let Some(destination) = query.get("destinationBroker").filter(|destination| !destination.is_empty()) {
        let (own, named) = (at.broker.broker_id(), without_scheme(destination));
        if named != own {
            return Err(Refusal::invalid(format!("{named} is no broker of this cluster, which has {own}")));
        }
    }
    at.broker.unload_bundle(&bundle).await?;
    DONE
}

fn without_scheme(address: &str) -> &str {
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    address.trim_end_matches('/')
}

/// A bundle's topics share a state log, which is not split.
pub(super) async fn split(at: Permitted<Namespace>) -> Done {
    named(&at).await?;
    Err(Refusal::unsupported("Splitting a bundle"))
}

/// Deleting a bundle would leave a hole in the namespace.
pub(super) async fn delete(at: &Permitted<Namespace>) -> Done {
    named(at).await?;
    Err(Refusal::unsupported("Deleting a single bundle"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_named_with_or_without_scheme() {
        assert_eq!(without_scheme("http://host:8080/"), "host:8080");
        assert_eq!(without_scheme("host:8080"), "host:8080");
    }
}
