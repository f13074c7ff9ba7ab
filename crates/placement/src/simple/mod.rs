//! The Simple load manager: quotas set aside what bundles are expected to need, and brokers are ranked by what is left.

mod manager;
mod pick;
mod quotas;
mod ranking;
mod report;
mod shed;
mod smoothing;

pub use manager::SimpleManager;
pub use pick::{Ranked, Strategy, pick};
pub use quotas::{QuotaBook, QuotaInput};
pub use ranking::{Bottleneck, Ranking};
pub use report::{judge_load, report_due, smoothed_memory};
pub use shed::{HostedBundles, shed};
pub use smoothing::{Bounds, smooth};

#[cfg(test)]
mod tests;
