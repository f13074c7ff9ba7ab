//! The clusters a namespace is replicated to. They are stored; nothing is replicated between clusters.

use axum::Json;
use axum::http::StatusCode;
use plerion_resources::policies::Policies;

use super::life;
use crate::body::Body;
use crate::permitted::{Namespace, Permitted};
use crate::refusal::Refusal;

pub(super) async fn read(at: Permitted<Namespace>) -> Result<Json<Vec<String>>, Refusal> {
    Ok(Json(life::policies(&at.broker, &at.target.0).await?.replication_clusters))
}

pub(super) async fn set(at: Permitted<Namespace>, Body(clusters): Body<Vec<String>>) -> Result<StatusCode, Refusal> {
    let resources = at.broker.resources();
    for cluster in &clusters {
        if !resources.clusters().exists(cluster).await? {
            return Err(Refusal::new(StatusCode::FORBIDDEN, format!("Invalid cluster id: {cluster}")));
        }
    }
    let update = |policies: &mut Policies| {
        policies.replication_clusters.clone_from(&clusters);
        Ok(())
    };
    life::update(&at.broker, &at.target.0, update).await?;
    Ok(StatusCode::OK)
}
