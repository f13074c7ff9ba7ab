//! What a caller may do, and to what.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::StatusCode;
use axum::http::request::Parts;
use plerion_broker::{Handle, Operation, Role};
use plerion_resources::names::{Domain, NamespaceName, TopicName};

use crate::app::App;
use crate::refusal::Refusal;

/// The values in a request's path, decoded.
pub(crate) struct Params {
    values: Vec<(String, String)>,
    domain: Option<Domain>,
}

impl Params {
    /// The value called `name`; empty if the route has none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.values.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    fn namespace(&self) -> Result<NamespaceName, Refusal> {
        NamespaceName::new(self.get("tenant"), self.get("namespace"))
            .map_err(|_| Refusal::invalid("Namespace name is not valid"))
    }

    fn topic(&self) -> Result<TopicName, Refusal> {
        let domain = match self.domain {
            Some(domain) => domain,
            None => self.get("domain").parse().map_err(|_| Refusal::not_found("No such topic domain"))?,
        };
        Ok(TopicName::new(domain, &self.namespace()?, self.get("topic"))?)
    }
}

/// Something that is operated on: how it is named in a path, and which permission it needs.
pub(crate) trait Target: Sized + Send {
    fn of(params: &Params) -> Result<Self, Refusal>;
    fn operation(&self) -> Operation<'_>;
}

macro_rules! targets {
    ($($(#[$doc:meta])* $name:ident($of:ty): $read:expr => $operation:expr;)*) => {
        $(
            $(#[$doc])*
            pub(crate) struct $name(pub(crate) $of);

            impl Target for $name {
                fn of(params: &Params) -> Result<Self, Refusal> {
                    let read: fn(&Params) -> Result<$of, Refusal> = $read;
                    read(params).map(Self)
                }

                fn operation(&self) -> Operation<'_> {
                    let operation: fn(&$of) -> Operation<'_> = $operation;
                    operation(&self.0)
                }
            }
        )*
    };
}

targets! {
    /// The cluster and its brokers.
    Cluster(()): |_| Ok(()) => |()| Operation::ManageCluster;
    /// A tenant.
    Tenant(String): |params| Ok(params.get("tenant").to_owned()) => |tenant| Operation::ManageTenant(tenant);
    /// A namespace and its policies.
    Namespace(NamespaceName): Params::namespace => |it| Operation::ManageNamespace(it);
    /// The list of a namespace's topics.
    Topics(NamespaceName): Params::namespace => |it| Operation::ListTopics(it);
    /// A topic.
    Topic(TopicName): Params::topic => |it| Operation::ManageTopic(it);
    /// A topic, of which only its place is asked for.
    Place(TopicName): Params::topic => |it| Operation::Lookup(it);
    /// The schemas of a topic.
    Schemas(TopicName): |params| Ok(schemas_of(params)?.base()) => |it| Operation::Schema(it);
}

/// Schemas are the same for topics of both domains.
fn schemas_of(params: &Params) -> Result<TopicName, Refusal> {
    Ok(TopicName::new(Domain::Persistent, &params.namespace()?, params.get("topic"))?)
}

/// A broker in the hands of somebody who may do to the target what the request asks for. There is no other way for a
/// handler to reach a broker.
pub(crate) struct Permitted<T> {
    pub(crate) broker: Handle,
    pub(crate) target: T,
    pub(crate) params: Params,
}

impl<T: Target> FromRequestParts<Arc<App>> for Permitted<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refusal> {
        let raw = RawPathParams::from_request_parts(parts, app).await;
        let raw = raw.map_err(|_| Refusal::malformed("The path is not UTF-8 once decoded"))?;
        let values = raw.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let params = Params { values, domain: parts.extensions.get().copied() };
        let target = T::of(&params)?;
        // Whoever authenticates requests leaves the role; without that nobody is known.
        let role = parts.extensions.get::<Role>().cloned().unwrap_or_default();
        let operation = target.operation();
        if !app.broker.allows(&role, &operation) {
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, operation.refusal()));
        }
        Ok(Self { broker: app.broker.clone(), target, params })
    }
}
