//! Children, scans and trees.

use plerion_metadata::{Expect, delete_tree};

use crate::cluster::{Cluster, put};

pub(crate) async fn children_are_one_level(cluster: &Cluster) {
    let store = cluster.store().await;
    for path in ["/t/b/x/y", "/t/a", "/t/a/1", "/t/a-b", "/t/a/2", "/u", "/t/é"] {
        put(&store, path, "x").await;
    }
    assert_eq!(store.children("/").await.unwrap(), ["t", "u"]);
    assert_eq!(store.children("/t").await.unwrap(), ["a", "a-b", "b", "é"]);
    assert_eq!(store.children("/t/b").await.unwrap(), ["x"]);
    assert_eq!(store.children("/t/a/1").await.unwrap(), Vec::<String>::new());
    assert_eq!(store.children("/missing").await.unwrap(), Vec::<String>::new());
}

pub(crate) async fn pages_have_no_gaps(cluster: &Cluster) {
    let store = cluster.store().await;
    let mut expected = Vec::new();
    for at in 0..25 {
        put(&store, &format!("/p/{at:02}"), "x").await;
        expected.push(format!("/p/{at:02}"));
        if at % 5 == 0 {
            put(&store, &format!("/p/{at:02}/below"), "x").await;
            expected.push(format!("/p/{at:02}/below"));
        }
    }
    for limit in [1, 7, 100] {
        let (mut rows, mut names) = (Vec::new(), Vec::new());
        loop {
            let page = store.scan("/p", rows.last().map(String::as_str), limit).await.unwrap();
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            rows.extend(page.into_iter().map(|(path, _)| path));
        }
        loop {
            let page = store.children_page("/p", names.last().map(String::as_str), limit).await.unwrap();
            if page.is_empty() {
                break;
            }
            names.extend(page);
        }
        assert_eq!(rows, expected);
        assert_eq!(names, (0..25).map(|at| format!("{at:02}")).collect::<Vec<_>>());
    }
    let rest = store.scan("/p", Some("/p/21/vanished"), 10).await.unwrap();
    assert_eq!(rest.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["/p/22", "/p/23", "/p/24"]);
}

pub(crate) async fn trees_are_deleted(cluster: &Cluster) {
    let store = cluster.store().await;
    for path in ["/d", "/d/a", "/d/a/b/c", "/d/e", "/da"] {
        put(&store, path, "x").await;
    }
    delete_tree(&*store, "/d").await.unwrap();
    delete_tree(&*store, "/d").await.unwrap();
    assert_eq!(store.children("/").await.unwrap(), ["da"]);
}

pub(crate) async fn a_row_needs_no_parent(cluster: &Cluster) {
    let store = cluster.store().await;
    put(&store, "/x/y/z", "x").await;
    assert_eq!(store.get("/x/y").await.unwrap(), None);
    assert!(!store.exists("/x").await.unwrap());
    store.delete("/x/y/z", Expect::Any).await.unwrap();
    assert_eq!(store.children("/").await.unwrap(), Vec::<String>::new());
}
