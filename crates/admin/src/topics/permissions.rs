//! Who may use a topic. They are kept with those of its namespace, whose own hold for the topic too.

use std::collections::BTreeMap;

use axum::Json;
use plerion_resources::policies::{AuthPolicies, Policies};

use crate::app::{DONE, Done};
use crate::body::Body;
use crate::namespaces::checked_actions;
use crate::permitted::{Permitted, Topic};
use crate::refusal::Refusal;

const ABSENT: &str = "Namespace does not exist";

pub(super) async fn read(at: Permitted<Topic>) -> Result<Json<BTreeMap<String, Vec<String>>>, Refusal> {
    let name = &at.target.0;
    let found = at.broker.resources().namespaces().policies(name.namespace()).await;
    let mut auth = found.map_err(|error| Refusal::from(error).or_not_found(ABSENT))?.auth_policies;
    let mut granted = auth.namespace_auth;
    for known in [name.base_name(), name.as_str()] {
        for (role, actions) in auth.topic_auth.remove(known).unwrap_or_default() {
            let all = granted.entry(role).or_default();
            all.extend(actions);
            all.sort();
            all.dedup();
        }
    }
    Ok(Json(granted))
}

async fn change(at: &Permitted<Topic>, mut change: impl FnMut(&mut AuthPolicies)) -> Done {
    let update = |policies: &mut Policies| {
        change(&mut policies.auth_policies);
        Ok(())
    };
    let updated = at.broker.resources().namespaces().update(at.target.0.namespace(), update).await;
    updated.map_err(|error| Refusal::from(error).or_not_found(ABSENT))?;
    DONE
}

pub(super) async fn grant(at: Permitted<Topic>, Body(actions): Body<Option<Vec<String>>>) -> Done {
    let actions = checked_actions(actions)?;
    let (topic, role) = (at.target.0.as_str(), at.params.get("role"));
    change(&at, |auth| {
        auth.topic_auth.entry(topic.to_owned()).or_default().insert(role.to_owned(), actions.clone());
    })
    .await
}

pub(super) async fn revoke(at: Permitted<Topic>) -> Done {
    let (topic, role) = (at.target.0.as_str(), at.params.get("role"));
    change(&at, |auth| {
        if let Some(roles) = auth.topic_auth.get_mut(topic) {
            roles.remove(role);
        }
        auth.topic_auth.retain(|_, roles| !roles.is_empty());
    })
    .await
}
