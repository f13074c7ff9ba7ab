//! `/admin/v2/namespaces`.

use std::sync::Arc;

use axum::Router;
use axum::routing::{delete, get, post, put};

use crate::app::App;

mod affinity;
mod backlog;
mod bundles;
mod life;
mod permissions;
mod policies;
mod properties;
mod replication;

pub(crate) use life::delete_all;
pub(crate) use permissions::checked as checked_actions;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/{tenant}", get(life::list))
        .route("/{tenant}/{namespace}", get(life::read).put(life::create).post(life::create).delete(life::delete))
        .route("/{tenant}/{namespace}/topics", get(life::topics))
        .route("/{tenant}/{namespace}/destinations", get(life::topics))
        .route("/{tenant}/{namespace}/bundles", get(bundles::list))
        .route("/{tenant}/{namespace}/unload", put(bundles::unload_all))
        .route("/{tenant}/{namespace}/clearBacklog", post(backlog::clear))
        .route("/{tenant}/{namespace}/clearBacklog/{subscription}", post(backlog::clear))
        .route("/{tenant}/{namespace}/unsubscribe/{subscription}", post(backlog::unsubscribe))
        .route("/{tenant}/{namespace}/permissions", get(permissions::read))
        .route("/{tenant}/{namespace}/permissions/subscription", get(permissions::read_subscriptions))
        .route("/{tenant}/{namespace}/permissions/{role}", post(permissions::grant).delete(permissions::revoke))
        .route("/{tenant}/{namespace}/permissions/subscription/{subscription}", post(permissions::grant_subscription))
        .route("/{tenant}/{namespace}/permissions/{subscription}/{role}", delete(permissions::revoke_subscription))
        .route("/{tenant}/{namespace}/antiAffinity", get(affinity::read).post(affinity::set).delete(affinity::unset))
        // Here the first two are a cluster, and the word that tells this path from those of a namespace.
        .route("/{tenant}/antiAffinity/{group}", get(affinity::members))
        .route(
            "/{tenant}/{namespace}/persistence/bookieAffinity",
            get(affinity::bookies).post(affinity::set_bookies).delete(affinity::unset_bookies),
        )
        .route("/{tenant}/{namespace}/replication", get(replication::read).post(replication::set))
        .route("/{tenant}/{namespace}/backlogQuotaMap", get(policies::quotas))
        .route("/{tenant}/{namespace}/backlogQuota", post(policies::set_quota).delete(policies::unset_quota))
        .route("/{tenant}/{namespace}/properties", get(properties::all).put(properties::add).delete(properties::clear))
        .route("/{tenant}/{namespace}/property/{key}", get(properties::one).delete(properties::remove))
        .route("/{tenant}/{namespace}/property/{key}/{value}", put(properties::set))
        .route(
            "/{tenant}/{namespace}/{policy}",
            get(policies::read).post(policies::set).put(policies::set).delete(policies::unset),
        )
        .route("/{tenant}/{namespace}/{policy}/unload", put(bundles::unload))
        .route("/{tenant}/{namespace}/{policy}/split", put(bundles::split))
        .route("/{tenant}/{namespace}/{policy}/clearBacklog", post(backlog::clear))
        .route("/{tenant}/{namespace}/{policy}/clearBacklog/{subscription}", post(backlog::clear))
        .route("/{tenant}/{namespace}/{policy}/unsubscribe/{subscription}", post(backlog::unsubscribe))
}
