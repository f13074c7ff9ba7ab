//! What a namespace prefers: brokers away from others of its group, and storage nodes. Both are stored.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plerion_resources::names::NamespaceName;
use plerion_resources::policies::LocalPolicies;
use serde_json::Value;

use super::life;
use crate::app::{DONE, Done};
use crate::body::{Body, Text};
use crate::permitted::{Cluster, Namespace, Permitted};
use crate::query::Parameters;
use crate::refusal::Refusal;

async fn change(at: &Permitted<Namespace>, mut change: impl FnMut(&mut LocalPolicies)) -> Done {
    let update = |policies: &mut LocalPolicies| {
        change(policies);
        Ok(())
    };
    life::updated(at.broker.resources().namespaces().update_local_policies(&at.target.0, update).await)?;
    DONE
}

async fn local(at: &Permitted<Namespace>) -> Result<LocalPolicies, Refusal> {
    let found = at.broker.resources().namespaces().local_policies(&at.target.0).await;
    Ok(found.map_err(|error| Refusal::from(error).or_not_found(life::ABSENT))?.value)
}

pub(super) async fn read(at: Permitted<Namespace>) -> Result<Response, Refusal> {
    Ok(match local(&at).await?.namespace_anti_affinity_group {
        Some(group) => Json(group).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

pub(super) async fn set(at: Permitted<Namespace>, Text(group): Text) -> Done {
    if group.trim().is_empty() {
        return Err(Refusal::invalid("antiAffinityGroup can't be empty"));
    }
    change(&at, |policies| policies.namespace_anti_affinity_group = Some(group.clone())).await
}

pub(super) async fn unset(at: Permitted<Namespace>) -> Done {
    change(&at, |policies| policies.namespace_anti_affinity_group = None).await
}

/// The namespaces of a group, in the tenant that `?tenant=` (or, as older clients call it, `?property=`) names.
pub(super) async fn members(at: Permitted<Cluster>, query: Parameters) -> Result<Json<Vec<String>>, Refusal> {
    let cluster = at.params.get("tenant");
    let resources = at.broker.resources();
    if !resources.clusters().exists(cluster).await? {
        return Err(Refusal::invalid(format!("Cluster {cluster} does not exist.")));
    }
    let tenant = query.get("tenant").or_else(|| query.get("property"));
    let tenant = tenant.ok_or_else(|| Refusal::malformed("Tenant should not be null"))?;
    let mut members = Vec::new();
    for name in resources.namespaces().list(tenant).await? {
        let name = NamespaceName::new(tenant, &name)?;
        let group = resources.namespaces().local_policies(&name).await?.value.namespace_anti_affinity_group;
        if group.is_some_and(|group| group.eq_ignore_ascii_case(at.params.get("group"))) {
            members.push(name.to_string());
        }
    }
    Ok(Json(members))
}

pub(super) async fn bookies(at: Permitted<Namespace>) -> Result<Json<Value>, Refusal> {
    local(&at)
        .await?
        .bookie_affinity_group
        .map(Json)
        .ok_or_else(|| Refusal::not_found("The namespace has no bookie affinity group"))
}

pub(super) async fn set_bookies(at: Permitted<Namespace>, Body(group): Body<Value>) -> Done {
    change(&at, |policies| policies.bookie_affinity_group = Some(group.clone()).filter(|group| !group.is_null())).await
}

pub(super) async fn unset_bookies(at: Permitted<Namespace>) -> Done {
    change(&at, |policies| policies.bookie_affinity_group = None).await
}
