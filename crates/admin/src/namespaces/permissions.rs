//! Who may use a namespace.

use std::collections::BTreeMap;

use axum::Json;
use plerion_resources::policies::{AuthPolicies, Policies};

use super::life;
use crate::app::{DONE, Done};
use crate::body::Body;
use crate::permitted::{Namespace, Permitted};
use crate::refusal::Refusal;

const ACTIONS: [&str; 6] = ["produce", "consume", "functions", "sources", "sinks", "packages"];

/// Actions that there are; without a body there is nothing to grant.
pub(crate) fn checked(actions: Option<Vec<String>>) -> Result<Vec<String>, Refusal> {
    let actions = actions.ok_or_else(|| Refusal::malformed("The actions to grant are missing"))?;
    match actions.iter().find(|action| !ACTIONS.contains(&action.as_str())) {
        Some(unknown) => {
            Err(Refusal::malformed(format!("There is no action {unknown}: actions are {}", ACTIONS.join(", "))))
        }
        None => Ok(actions),
    }
}

async fn change(at: &Permitted<Namespace>, mut change: impl FnMut(&mut AuthPolicies)) -> Done {
    let update = |policies: &mut Policies| {
        change(&mut policies.auth_policies);
        Ok(())
    };
    life::updated(at.broker.resources().namespaces().update(&at.target.0, update).await)?;
    DONE
}

pub(super) async fn read(at: Permitted<Namespace>) -> Result<Json<BTreeMap<String, Vec<String>>>, Refusal> {
    Ok(Json(life::policies(&at.broker, &at.target.0).await?.auth_policies.namespace_auth))
}

pub(super) async fn grant(at: Permitted<Namespace>, Body(actions): Body<Option<Vec<String>>>) -> Done {
    let actions = checked(actions)?;
    let role = at.params.get("role");
    change(&at, |auth| drop(auth.namespace_auth.insert(role.to_owned(), actions.clone()))).await
}

pub(super) async fn revoke(at: Permitted<Namespace>) -> Done {
    let role = at.params.get("role");
    change(&at, |auth| drop(auth.namespace_auth.remove(role))).await
}

pub(super) async fn read_subscriptions(
    at: Permitted<Namespace>,
) -> Result<Json<BTreeMap<String, Vec<String>>>, Refusal> {
    Ok(Json(life::policies(&at.broker, &at.target.0).await?.auth_policies.subscription_auth))
}

pub(super) async fn grant_subscription(at: Permitted<Namespace>, Body(roles): Body<Vec<String>>) -> Done {
    let subscription = at.params.get("subscription");
    change(&at, |auth| drop(auth.subscription_auth.insert(subscription.to_owned(), roles.clone()))).await
}

pub(super) async fn revoke_subscription(at: Permitted<Namespace>) -> Done {
    let (subscription, role) = (at.params.get("subscription"), at.params.get("role"));
    change(&at, |auth| {
        if let Some(roles) = auth.subscription_auth.get_mut(subscription) {
            roles.retain(|known| known != role);
        }
        auth.subscription_auth.retain(|_, roles| !roles.is_empty());
    })
    .await
}
