//! `plerion standalone`: one broker with embedded storage.

use std::path::Path;
use std::sync::Arc;

use plerion_broker::{AllowAll, Broker, Parts, StoreFactory};
use plerion_clock::{SharedClock, SystemClock};
use plerion_config::{LiveSettings, Settings};
use plerion_ledger::disk::Directory;
use plerion_ledger::embedded;

use crate::data_directory::{DataDirectory, Wipe};
use crate::failure::Failure;
use crate::shutdown::Shutdown;

/// Runs a broker until a signal asks for its end.
pub(crate) fn run(settings: Settings, wipe: Wipe) -> Result<(), Failure> {
    let data = DataDirectory::open(&settings.storage.data_directory, wipe)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|cause| Failure::System { what: "start the runtime", cause })?;
    runtime.block_on(serve(&data, settings))
}

async fn serve(data: &DataDirectory, settings: Settings) -> Result<(), Failure> {
    let mut shutdown = Shutdown::listen()?;
    let clock = SystemClock::shared();
    let ledgers = open_ledgers(&data.ledgers(), &settings, clock.clone())?;
    let options = plerion_metadata::EmbeddedOptions::default();
    let metadata = plerion_metadata::EmbeddedStore::open(&data.metadata().join("metadata.redb"), &options)?;
    let metadata = Arc::new(metadata);
    let (patience, cluster) = (settings.network.shutdown_timeout, settings.cluster.name.clone());
    let store: StoreFactory = {
        let ledgers = ledgers.clone();
        Arc::new(move || ledgers.shard())
    };
    let broker = Broker::start(Parts {
        settings: Arc::new(LiveSettings::new(settings)),
        clock,
        metadata: metadata.clone(),
        store,
        authorizer: Arc::new(AllowAll),
        web_port: None,
    })
    .await?;
    tracing::info!(data = %data.path().display(), cluster, port = broker.port(), "serving");
    let reason = shutdown.requested().await;
    tracing::info!(%reason, "ending");
    tokio::select! {
        () = broker.stop() => {}
        _ = shutdown.requested() => tracing::warn!("ending at once; the next start recovers"),
        () = tokio::time::sleep(patience) => tracing::warn!("ending takes too long; the next start recovers"),
    }
    metadata.close().await;
    Ok(())
}

fn open_ledgers(
    directory: &Path,
    settings: &Settings,
    clock: SharedClock,
) -> Result<Arc<embedded::EmbeddedStore>, Failure> {
    let storage = &settings.storage;
    let config = embedded::Config {
        journals: storage.journals as usize,
        segment_bytes: storage.segment_size,
        cache_bytes: usize::try_from(storage.cache_size).unwrap_or(usize::MAX),
        ..embedded::Config::default()
    };
    let disk = Directory::open(directory).map_err(|cause| Failure::System { what: "open the ledgers", cause })?;
    Ok(embedded::EmbeddedStore::open(config, Arc::new(disk), clock)?)
}
