use proptest::prelude::*;

use super::*;

fn pairs(text: &str) -> Vec<(String, String)> {
    parse(text).expect("well formed").into_iter().map(|property| (property.key, property.value)).collect()
}

#[test]
fn keys_end_at_the_first_separator_that_is_not_escaped() {
    for text in ["key=value", "key:value", "key value", "key = value", "  key\t:\tvalue", "key   value", "key=value\r"]
    {
        assert_eq!(pairs(text), [("key".into(), "value".into())], "{text:?}");
    }
    for (text, key, value) in [
        ("a=b=c", "a", "b=c"),
        ("a==b", "a", "=b"),
        (r"a\=b=c", "a=b", "c"),
        (r"a\ b\:c d", "a b:c", "d"),
        ("alone", "alone", ""),
        ("empty=", "empty", ""),
        ("=value", "", "value"),
        ("url=http://host:8080/", "url", "http://host:8080/"),
        ("kept=value  ", "kept", "value  "),
    ] {
        assert_eq!(pairs(text), [(key.into(), value.into())], "{text:?}");
    }
}

#[test]
fn comments_and_empty_lines_are_skipped_and_lines_are_counted() {
    let text = "# a=1\n\n   ! b=2\r\n \t \nc=3\r\nd=4 # not a comment\n";
    let parsed = parse(text).expect("well formed");
    assert_eq!(
        parsed.iter().map(|p| (p.line, p.key.as_str(), p.value.as_str())).collect::<Vec<_>>(),
        [(5, "c", "3"), (6, "d", "4 # not a comment"),]
    );
}

#[test]
fn an_odd_number_of_backslashes_continues_the_line() {
    assert_eq!(
        pairs("list=a,\\\n     b,\\\n\tc\nnext=1"),
        [("list".into(), "a,b,c".into()), ("next".into(), "1".into())]
    );
    assert_eq!(pairs("path=c:\\\\\nnext=1"), [("path".into(), "c:\\".into()), ("next".into(), "1".into())]);
    assert_eq!(pairs("a=1\\\n# no comment here"), [("a".into(), "1# no comment here".into())]);
    assert_eq!(pairs("last=1\\"), [("last".into(), "1".into())]);
    assert_eq!(parse("a=1\\\n2\nb=3").expect("well formed")[1].line, 3);
}

#[test]
fn escapes_stand_for_what_they_stand_for_in_java() {
    assert_eq!(pairs(r"a=\t\n\r\f\\\q\u00e9\uD83D\uDE00"), [("a".into(), "\t\n\r\u{c}\\q\u{e9}\u{1f600}".into())]);
    for (text, part) in [("a=1\nb=\\u12", "12"), ("a=1\nb=\\u+123", "+123"), ("a=1\nb=\\ud83d", "half a character")] {
        let malformed = parse(text).expect_err(text);
        assert_eq!(malformed.line, 2);
        assert!(malformed.why.contains(part), "{}", malformed.why);
    }
}

/// What `java.util.Properties.store` writes for a text.
fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => "\\t".into(),
            '\n' => "\\n".into(),
            '\r' => "\\r".into(),
            '\u{c}' => "\\f".into(),
            ' ' | '=' | ':' | '#' | '!' | '\\' => format!("\\{c}"),
            c => c.to_string(),
        })
        .collect()
}

proptest! {
    #[test]
    fn what_is_escaped_is_read_back(
        written in prop::collection::vec(("[ -~\t\n\r\u{c}é😀]{0,12}", "[ -~\t\n\r\u{c}é😀]{0,12}"), 0..6)
    ) {
        let text: String = written.iter().map(|(key, value)| format!("{}={}\n", escape(key), escape(value))).collect();
        prop_assert_eq!(pairs(&text), written);
    }

    #[test]
    fn no_text_is_a_panic(text in "[a-z=:#!\\\\u\\r\\n 0-9]{0,60}") {
        let _ = parse(&text);
    }
}
