//! `plerion config`.

use crate::process::{finish, plerion};

#[test]
fn it_prints_one_key_all_keys_or_a_file() {
    let (code, one, _) = finish(plerion(&["config", "maxMessageSize"]));
    assert_eq!(code, 0);
    assert!(one.starts_with("maxMessageSize=5242880\n") && one.contains("bytes from 1024"), "{one}");

    let (code, all, _) = finish(plerion(&["config"]));
    assert_eq!(code, 0);
    assert!(all.contains(&one) && all.contains("--- Storage ---"));

    let (code, file, _) = finish(plerion(&["config", "--file"]));
    assert_eq!(code, 0);
    assert_eq!(file, include_str!("../../../../conf/standalone.conf"));
}

#[test]
fn a_key_without_effect_or_unknown_is_told_apart() {
    let (code, text, _) = finish(plerion(&["config", "zookeeperServers"]));
    assert_eq!(code, 0);
    assert!(text.contains("has no effect"), "{text}");
    let (code, _, error) = finish(plerion(&["config", "maxMesageSize"]));
    assert_eq!(code, 2);
    assert!(error.contains("did you mean maxMessageSize"), "{error}");
}
