//! A cycle of shedding written down, so that it can be asked about and run again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LoadData;
use super::shed::Shedder;
use crate::explain::Plan;
use crate::registry::{Registry, UnknownPolicy};
use crate::settings::Settings;

/// Everything a shedder decided by, and what it decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShedRecord {
    /// The shedder's short name.
    pub shedder: String,
    /// What it remembered of earlier cycles.
    pub state: Value,
    /// The settings.
    pub settings: Settings,
    /// The cluster.
    pub data: LoadData,
    /// What it decided, and why.
    pub plan: Plan,
}

/// Why a record cannot be run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The shedder is not registered (any more).
    #[error(transparent)]
    Shedder(#[from] UnknownPolicy),
    /// The state is not one of this shedder.
    #[error("the recorded state is not one of this shedder: {0}")]
    State(#[from] serde_json::Error),
}

impl ShedRecord {
    /// Runs one cycle and writes it down.
    pub fn take(shedder: &mut dyn Shedder, data: &LoadData, settings: &Settings) -> Self {
        Self {
            shedder: shedder.name().to_owned(),
            state: shedder.state(),
            settings: settings.clone(),
            data: data.clone(),
            plan: shedder.decide(data, settings),
        }
    }

    /// Runs the cycle again. The same inputs give the same plan, verdict by verdict.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn replay(&self, registry: &Registry) -> Result<Plan, ReplayError> {
        let mut shedder = registry.shedder(&self.shedder)?;
        shedder.restore(&self.state)?;
        Ok(shedder.decide(&self.data, &self.settings))
    }

    /// A checksum of the inputs and the plan: CRC-32 of the JSON form.
    #[must_use]
    pub fn digest(&self) -> u32 {
        crc32fast::hash(&serde_json::to_vec(self).unwrap_or_default())
    }
}
