//! `/admin/v2/tenants`.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use plerion_broker::Handle;
use plerion_resources::TenantInfo;
use plerion_resources::names::{NamespaceName, check_entity};

use crate::app::{App, DONE, Done};
use crate::body::Body;
use crate::namespaces;
use crate::permitted::{Cluster, Permitted, Tenant};
use crate::query::Parameters;
use crate::refusal::Refusal;

const ABSENT: &str = "Tenant does not exist";

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/", get(list)).route("/{tenant}", get(read).put(create).post(update).delete(delete))
}

async fn list(at: Permitted<Cluster>) -> Result<Json<Vec<String>>, Refusal> {
    Ok(Json(at.broker.resources().tenants().list().await?))
}

async fn read(at: Permitted<Tenant>) -> Result<Json<TenantInfo>, Refusal> {
    let found = at.broker.resources().tenants().get(&at.target.0).await;
    Ok(Json(found.map_err(|error| Refusal::from(error).or_not_found(ABSENT))?))
}

async fn create(at: Permitted<Tenant>, Body(info): Body<Option<TenantInfo>>) -> Done {
    let tenant = &at.target.0;
    check_entity(tenant).map_err(|_| Refusal::invalid("Tenant name is not valid"))?;
    let info = checked(&at.broker, info).await?;
    let tenants = at.broker.resources().tenants();
    if let Some(most) = at.broker.settings().current().cluster.max_tenants
        && !tenants.exists(tenant).await?
        && tenants.list().await?.len() >= most as usize
    {
        return Err(Refusal::invalid("Exceed the maximum number of tenants"));
    }
    let created = tenants.create(tenant, &info).await;
    created.map_err(|error| Refusal::from(error).or_exists("Tenant already exist"))?;
    DONE
}

async fn update(at: Permitted<Tenant>, Body(info): Body<Option<TenantInfo>>) -> Done {
    let info = checked(&at.broker, info).await?;
    let change = |stored: &mut TenantInfo| {
        stored.clone_from(&info);
        Ok(())
    };
    let updated = at.broker.resources().tenants().update(&at.target.0, change).await;
    updated.map_err(|error| Refusal::from(error).or_not_found(ABSENT))?;
    DONE
}

async fn delete(at: Permitted<Tenant>, query: Parameters) -> Done {
    let tenant = &at.target.0;
    let resources = at.broker.resources();
    if !resources.tenants().exists(tenant).await? {
        return Err(Refusal::not_found(ABSENT));
    }
    if query.flag("force") {
        if !at.broker.settings().current().cluster.force_delete_tenant {
            return Err(Refusal::not_allowed("Broker doesn't allow forced deletion of tenants"));
        }
        for name in resources.namespaces().list(tenant).await? {
            namespaces::delete_all(&at.broker, &NamespaceName::new(tenant, &name)?).await?;
        }
    }
    let deleted = resources.tenants().delete(tenant).await;
    deleted.map_err(|error| match Refusal::from(error) {
        refusal if refusal.status == StatusCode::CONFLICT => {
            Refusal::conflict("The tenant still has active namespaces")
        }
        refusal => refusal.or_not_found(ABSENT),
    })?;
    DONE
}

/// The tenant a request describes; one without a body may use every cluster.
async fn checked(broker: &Handle, info: Option<TenantInfo>) -> Result<TenantInfo, Refusal> {
    let known = broker.resources().clusters().list().await?;
    let Some(info) = info else { return Ok(TenantInfo { allowed_clusters: known, ..TenantInfo::default() }) };
    if info.allowed_clusters.is_empty() || info.allowed_clusters.iter().any(|name| name.trim().is_empty()) {
        return Err(Refusal::invalid("Clusters cannot be empty or blank"));
    }
    if info.allowed_clusters.iter().any(|name| name != "global" && !known.contains(name)) {
        return Err(Refusal::invalid("Clusters do not exist"));
    }
    Ok(info)
}
