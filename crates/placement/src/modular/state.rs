//! All a leader remembers, to be written down and taken up again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::place::RoundRobin;
use super::{LoadData, ModularManager};
use crate::names::{BrokerId, BundleName};

/// What a [`ModularManager`] knows, its policies' own state included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManagerState {
    data: LoadData,
    placement: Value,
    shedder: Value,
    turns: RoundRobin,
    assigned: BTreeMap<BundleName, (BrokerId, i64)>,
    moved_out: BTreeMap<BrokerId, f64>,
}

impl ModularManager {
    /// Everything its next answer depends on.
    #[must_use]
    pub fn state(&self) -> ManagerState {
        ManagerState {
            data: self.data.clone(),
            placement: self.placement.state(),
            shedder: self.shedder.state(),
            turns: self.turns.clone(),
            assigned: self.assigned.clone(),
            moved_out: self.moved_out.clone(),
        }
    }

    /// Takes up where a manager of the same policies with this state was.
    ///
    /// # Errors
    /// When a policy's state is not one of its own.
    pub fn restore(&mut self, state: ManagerState) -> Result<(), serde_json::Error> {
        self.placement.restore(&state.placement)?;
        self.shedder.restore(&state.shedder)?;
        self.data = state.data;
        self.turns = state.turns;
        self.assigned = state.assigned;
        self.moved_out = state.moved_out;
        Ok(())
    }
}
