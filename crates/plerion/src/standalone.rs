//! `plerion standalone`: one broker with embedded storage.

use plerion_config::Settings;

use crate::data_directory::{DataDirectory, Wipe};
use crate::failure::Failure;
use crate::shutdown::Shutdown;

/// Runs a broker until a signal asks for its end.
pub(crate) fn run(settings: Settings, wipe: Wipe) -> Result<(), Failure> {
    let data = DataDirectory::open(&settings.storage.data_directory, wipe)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Failure::System { what: "start the runtime", cause })?;
    runtime.block_on(async {
        let mut shutdown = Shutdown::listen()?;
        tracing::info!(data = %data.path().display(), cluster = settings.cluster.name, "serving");
        let reason = shutdown.requested().await;
        tracing::info!(%reason, "ending");
        Ok(())
    })
}
