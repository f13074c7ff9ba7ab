//! `plerion standalone`: one broker with embedded storage.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plerion_admin::{Options, Ready};
use plerion_broker::{AllowAll, Broker, Parts, StoreFactory};
use plerion_clock::{SharedClock, SystemClock};
use plerion_config::{LiveSettings, Scheme, Settings};
use plerion_ledger::disk::Directory;
use plerion_ledger::embedded;

use crate::data_directory::{DataDirectory, Wipe};
use crate::failure::Failure;
use crate::metrics::LedgerFigures;
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
    let http = listen_http(&settings)?;
    let broker = Broker::start_alone(Parts {
        settings: Arc::new(LiveSettings::new(settings)),
        clock,
        metadata: metadata.clone(),
        store,
        authorizer: Arc::new(AllowAll),
        web_port: http.as_ref().and_then(|http| http.local_addr().ok()).map(|address| address.port()),
    })
    .await?;
    plerion_admin::restore_configuration(&broker.handle()).await?;
    let ready = Ready::default();
    let (end_http, http_ended) = tokio::sync::oneshot::channel::<()>();
    let web_port = http.as_ref().and_then(|http| http.local_addr().ok()).map(|address| address.port());
    let serving = http.map(|listener| {
        let sources: Vec<Arc<dyn plerion_admin::Source>> = vec![Arc::new(LedgerFigures(ledgers.clone()))];
        let options = Options { ready: ready.clone(), sources, ..Options::default() };
        let shutdown = async {
            let _ = http_ended.await;
        };
        tokio::spawn(plerion_admin::serve(broker.handle(), listener, options, shutdown))
    });
    tracing::info!(data = %data.path().display(), cluster, port = broker.port(), web_port, "serving");
    let reason = shutdown.requested().await;
    tracing::info!(%reason, "ending");
    ready.set(false);
    tokio::select! {
        () = broker.stop() => {}
        _ = shutdown.requested() => tracing::warn!("ending at once; the next start recovers"),
        () = tokio::time::sleep(patience) => tracing::warn!("ending takes too long; the next start recovers"),
    }
    let _ = end_http.send(());
    if let Some(serving) = serving {
        // Requests that hang must not keep the process.
        let _ = tokio::time::timeout(Duration::from_secs(1), serving).await;
    }
    metadata.close().await;
    Ok(())
}

/// Opens the port of the REST interface, if one is set.
fn listen_http(settings: &Settings) -> Result<Option<TcpListener>, Failure> {
    let binds = settings.network.binds();
    let Some(bind) = binds.iter().find(|bind| bind.scheme == Scheme::Http) else { return Ok(None) };
    let listener = TcpListener::bind((bind.host.as_str(), bind.port));
    let address = format!("{}:{}", bind.host, bind.port);
    listener.map(Some).map_err(|cause| Failure::Http { address, cause })
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
