//! Settings that change while the broker runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::{Key, Origin, Problem, Problems, Settings, key, nearest, pulsar};

/// The settings the broker was started with, and the changes made since to those that are dynamic. Changes are kept
/// in memory only; whoever wants them to last stores [`overrides`](Self::overrides) and applies them again.
#[derive(Debug)]
pub struct LiveSettings {
    started_with: Settings,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    overrides: BTreeMap<&'static str, String>,
    current: Arc<Settings>,
}

impl LiveSettings {
    /// Settings that nobody has changed yet.
    pub fn new(settings: Settings) -> Self {
        let current = Arc::new(settings.clone());
        Self { started_with: settings, state: RwLock::new(State { overrides: BTreeMap::new(), current }) }
    }

    /// The settings that hold now. Take them once for a decision: later changes make a new value.
    pub fn current(&self) -> Arc<Settings> {
        self.state.read().current.clone()
    }

    /// Changes a dynamic setting and returns the settings that hold from now on.
    ///
    /// # Errors
    /// The key is unknown or not dynamic, or the value is not one it can take; nothing has changed then.
    pub fn set(&self, name: &str, value: &str) -> Result<Arc<Settings>, Problems> {
        let key = dynamic(name)?;
        let mut state = self.state.write();
        let current = Arc::new(state.current.changed(key, value, Origin::Runtime)?);
        state.overrides.insert(key.name, value.trim().to_owned());
        state.current = current.clone();
        Ok(current)
    }

    /// Takes a change back, if there is one, and returns the settings that hold from now on.
    ///
    /// # Errors
    /// The key is unknown or not dynamic.
    pub fn reset(&self, name: &str) -> Result<Arc<Settings>, Problems> {
        let key = dynamic(name)?;
        let mut state = self.state.write();
        if state.overrides.remove(key.name).is_some() {
            let mut settings = self.started_with.clone();
            for (name, value) in &state.overrides {
                settings = settings.changed(dynamic(name)?, value, Origin::Runtime)?;
            }
            state.current = Arc::new(settings);
        }
        Ok(state.current.clone())
    }

    /// The changes that hold, by key.
    pub fn overrides(&self) -> BTreeMap<&'static str, String> {
        self.state.read().overrides.clone()
    }
}

fn dynamic(name: &str) -> Result<&'static Key, Problem> {
    match key::find(name) {
        Some(key) if key.dynamic => Ok(key),
        Some(_) => Err(Problem::NotDynamic(name.to_owned())),
        None if pulsar::knows(name) => Err(Problem::NotDynamic(name.to_owned())),
        None => {
            let nearest = nearest::to(name, key::keys().filter(|key| key.dynamic).map(|key| key.name));
            Err(Problem::Unknown { key: name.to_owned(), origin: Origin::Runtime, nearest })
        }
    }
}
