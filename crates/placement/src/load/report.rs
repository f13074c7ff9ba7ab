//! Reading a broker's report, whichever manager wrote it.

use serde_json::Value;

use super::{LoadReport, LocalBrokerData};

/// A report found at `/loadbalance/brokers/<brokerId>`.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// Of the Modular manager.
    Modular(Box<LocalBrokerData>),
    /// Of the Simple manager.
    Simple(Box<LoadReport>),
}

/// A report that cannot be read. Another attempt makes sense once the broker has written a new one.
#[derive(Debug, thiserror::Error)]
#[error("load report is not JSON of a LocalBrokerData or a LoadReport: {0}")]
pub struct ReportError(#[from] serde_json::Error);

impl Report {
    /// Reads a report. It is the Simple manager's when its type says so or when it has the field `underLoaded`.
    ///
    /// # Errors
    /// [`ReportError`].
    pub fn from_json(text: &[u8]) -> Result<Self, ReportError> {
        let value: Value = serde_json::from_slice(text)?;
        let is_simple =
            value.get("loadReportType").is_some_and(|kind| kind == "LoadReport") || value.get("underLoaded").is_some();
        Ok(if is_simple {
            Self::Simple(Box::new(serde_json::from_value(value)?))
        } else {
            Self::Modular(Box::new(serde_json::from_value(value)?))
        })
    }
}
