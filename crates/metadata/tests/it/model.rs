//! Random operations against a model that is a sorted map.

use std::collections::BTreeMap;

use bytes::Bytes;
use plerion_metadata::{EmbeddedOptions, EmbeddedStore, Error, Expect, MemoryStore, MetadataStore, PutOptions, Result};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Op {
    Put { path: String, value: u8, expect: Expect, eventual: bool },
    Delete { path: String, expect: Expect },
    Reopen,
}

/// Path to version and value.
type Model = BTreeMap<String, (u64, u8)>;

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let path = || prop::sample::select(vec!["/a", "/a/b", "/a/b/c", "/a-", "/b", "/b/c"]).prop_map(str::to_owned);
    let expect = || {
        prop_oneof![
            2 => Just(Expect::Any),
            1 => Just(Expect::Absent),
            2 => (0_u64..3).prop_map(Expect::Version),
        ]
    };
    let put = (path(), any::<u8>(), expect(), any::<bool>()).prop_map(|(path, value, expect, eventual)| Op::Put {
        path,
        value,
        expect,
        eventual,
    });
    let delete = (path(), expect()).prop_map(|(path, expect)| Op::Delete { path, expect });
    prop::collection::vec(prop_oneof![6 => put, 3 => delete, 1 => Just(Op::Reopen)], 1..40)
}

fn check(model: &Model, path: &str, expect: Expect) -> Result<()> {
    let found = model.get(path).map(|(version, _)| *version);
    match expect {
        Expect::Absent if found.is_some() => Err(Error::AlreadyExists { path: path.to_owned() }),
        Expect::Version(version) if found != Some(version) => {
            Err(Error::BadVersion { path: path.to_owned(), expected: expect, found })
        }
        _ => Ok(()),
    }
}

fn model_put(model: &mut Model, path: &str, value: u8, expect: Expect) -> Result<u64> {
    check(model, path, expect)?;
    let version = model.get(path).map_or(0, |(version, _)| version + 1);
    model.insert(path.to_owned(), (version, value));
    Ok(version)
}

fn model_delete(model: &mut Model, path: &str, expect: Expect) -> Result<()> {
    if !model.contains_key(path) {
        return Err(Error::NotFound { path: path.to_owned() });
    }
    check(model, path, expect)?;
    if model.keys().any(|key| key.starts_with(&format!("{path}/"))) {
        return Err(Error::NotEmpty { path: path.to_owned() });
    }
    model.remove(path);
    Ok(())
}

async fn run<S: MetadataStore>(mut store: S, ops: Vec<Op>, reopen: impl AsyncFn(S) -> S) {
    let mut model = Model::new();
    for op in ops {
        match op {
            Op::Put { path, value, expect, eventual } => {
                let options = if eventual { PutOptions::PERSISTENT.eventual() } else { PutOptions::PERSISTENT };
                let put = store.put(&path, Bytes::from(vec![value]), expect, options).await;
                assert_eq!(put.map(|written| written.stat.version), model_put(&mut model, &path, value, expect));
            }
            Op::Delete { path, expect } => {
                assert_eq!(store.delete(&path, expect).await, model_delete(&mut model, &path, expect));
            }
            Op::Reopen => store = reopen(store).await,
        }
        let rows = store.scan("/", None, 100).await.unwrap();
        let rows: Model = rows.into_iter().map(|(path, row)| (path, (row.stat.version, row.value[0]))).collect();
        assert_eq!(rows, model);
        for (path, (version, _)) in &model {
            assert_eq!(store.get(path).await.unwrap().unwrap().stat.version, *version);
        }
    }
}

fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_behaves_as_a_map(ops in ops()) {
        block_on(run(MemoryStore::new(), ops, async |store| store));
    }

    #[test]
    fn embedded_behaves_as_a_map_across_restarts(ops in ops()) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("metadata");
        let open = || EmbeddedStore::open(&file, &EmbeddedOptions::default()).unwrap();
        block_on(run(open(), ops, async |store: EmbeddedStore| {
            store.close().await;
            open()
        }));
    }
}
