use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::World;

const HEAD: &str = "HTTP/1.1\r\nHost: it\r\n";

#[tokio::test]
async fn repeated_slashes_are_one() {
    let world = World::start().await;
    assert_eq!(world.get("//admin/v2//clusters").await.status, 200);
    assert_eq!(world.put("//admin///v2/persistent/public/default//t", "").await.status, 204);
    assert_eq!(world.get("/admin/v2/persistent/public/default/t//stats").await.status, 200);
}

#[tokio::test]
async fn the_type_of_a_body_does_not_matter() {
    let world = World::start().await;
    for (index, kind) in
        ["text/plain", "application/json", "application/vnd.partitioned-topic-metadata+json", "x"].iter().enumerate()
    {
        let path = format!("/admin/v2/persistent/public/default/p{index}/partitions");
        let request =
            format!("PUT {path} {HEAD}Content-Type: {kind}\r\nConnection: close\r\nContent-Length: 1\r\n\r\n4");
        assert_eq!(world.raw(request.as_bytes()).await[0].status, 204, "{kind}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_refused_with_a_reason() {
    let world = World::start().await;
    for (method, path, status) in [
        ("GET", "/admin/v2/nope", 404),
        ("GET", "/nope", 404),
        ("GET", "/admin/v2/persistent/public/default/t/nope/nope/nope/nope", 404),
        ("PATCH", "/admin/v2/clusters", 405),
        ("POST", "/admin/v2/namespaces/public/default/topics", 405),
        ("GET", "/admin/v2/bookies/all", 501),
        ("GET", "/admin/v2/functions/a/b", 501),
        ("POST", "/admin/v3/functions/a/b/c", 501),
        ("GET", "/admin/v3/sinks/a/b", 501),
        ("GET", "/admin/v3/packages/function/a/b", 501),
        ("GET", "/admin/v2/worker/cluster", 501),
    ] {
        let refused = world.request(method, path, None).await;
        assert_eq!(refused.status, status, "{method} {path}");
        assert!(!refused.reason().is_empty());
    }
}

#[tokio::test]
async fn an_unframed_body_after_delete_is_no_request() {
    let world = World::start().await;
    world.put("/admin/v2/persistent/public/default/t", "").await;
    let delete = format!("DELETE /admin/v2/persistent/public/default/t {HEAD}\r\n{{}}");
    let answers = world.raw(delete.as_bytes()).await;
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!((answers[0].status, answers[0].header("connection")), (204, Some("close")));
}

#[tokio::test]
async fn connections_are_kept_for_the_next_request() {
    let world = World::start().await;
    let get = format!("GET /admin/v2/clusters {HEAD}\r\n");
    let last = format!("GET /admin/v2/clusters {HEAD}Connection: close\r\n\r\n");
    let framed = format!("DELETE /admin/v2/clusters/nope {HEAD}Content-Length: 2\r\n\r\n{{}}");
    let answers = world.raw(format!("{get}{framed}{last}").as_bytes()).await;
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 404, 200]);
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let world = World::start().await;
    let long = "1".repeat(3 << 20);
    let request = format!("PUT /admin/v2/tenants/t {HEAD}Connection: close\r\nContent-Length: {}\r\n\r\n", long.len());
    // The server need not read it all.
    let answers = world.raw(request.as_bytes()).await;
    assert_eq!(answers[0].status, 413);
}

/// Sends the pieces one after the other until the broker closes the connection; what it had answered by then.
async fn until_closed(stream: TcpStream, pieces: impl Iterator<Item = &'static [u8]>) -> String {
    let (mut from, mut to) = stream.into_split();
    let mut answer = Vec::new();
    let reading = async {
        // A reset is an end too.
        let _ = from.read_to_end(&mut answer).await;
    };
    let writing = async {
        for piece in pieces {
            if to.write_all(piece).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        std::future::pending::<()>().await;
    };
    let closed = async {
        tokio::select! {
            () = reading => {}
            () = writing => {}
        }
    };
    tokio::time::timeout(Duration::from_secs(20), closed).await.expect("the broker closes it");
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_client_that_comes_to_no_end_is_closed() {
    let world = World::start().await;
    let door = world.impatient(Duration::from_millis(300));
    let connect = async || TcpStream::connect(door).await.unwrap();
    // Nothing at all, half a head, a head without its body, a byte at a time for ever, and an answer nobody follows up.
    assert_eq!(until_closed(connect().await, std::iter::empty()).await, "");
    let half: &[u8] = b"GET /admin/v2/clusters HTTP/1.1\r\nHost: it\r\n";
    assert_eq!(until_closed(connect().await, std::iter::once(half)).await, "");
    let bodiless: &[u8] = b"PUT /admin/v2/tenants/t HTTP/1.1\r\nHost: it\r\nContent-Length: 9\r\n\r\n{";
    assert!(!until_closed(connect().await, std::iter::once(bodiless)).await.contains("204"));
    assert_eq!(until_closed(connect().await, std::iter::once(half).chain(std::iter::repeat(&b"X"[..]))).await, "");
    let whole: &[u8] = b"GET /admin/v2/clusters HTTP/1.1\r\nHost: it\r\n\r\n";
    let answer = until_closed(connect().await, std::iter::once(whole)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    // Who asks in time is served for as long as it likes.
    let answer =
        tokio::time::timeout(Duration::from_millis(900), until_closed(connect().await, std::iter::repeat(whole)));
    assert!(answer.await.is_err(), "it is still served");
}
