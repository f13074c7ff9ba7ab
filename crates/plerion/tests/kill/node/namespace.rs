use plerion_metadata::SharedMetadataStore;
use plerion_resources::Resources;
use plerion_resources::names::NamespaceName;
use plerion_resources::policies::Policies;

use crate::plan::DEDUPLICATING;

/// Makes the namespace that deduplicates, in a store a broker has used before.
pub(super) async fn make_deduplicating(store: &SharedMetadataStore) {
    let resources = Resources::new(store);
    let namespaces = resources.namespaces();
    let name: NamespaceName = "public/default".parse().expect("a name");
    let like = namespaces.policies(&name).await.expect("a broker has made it");
    let policies = Policies { deduplication_enabled: Some(true), ..like };
    namespaces.create(&DEDUPLICATING.parse().expect("a name"), policies).await.expect("a new namespace");
}
