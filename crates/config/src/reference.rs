//! The reference of the keys: what the command line prints, and the configuration file with every default.

use std::fmt::Write;

use crate::{Key, key};

const WIDTH: usize = 118;

/// A configuration file that sets nothing and documents everything: each key with its documentation, and its default
/// behind a comment sign.
pub fn file() -> String {
    let mut text = String::from(
        "# Settings of `plerion standalone`, in the format of Java properties.\n\
         #\n\
         # Every key has the default that is shown. To set one, remove the comment sign before it. The same can be done by\n\
         # an environment variable PLERION_<key> or PULSAR_PREFIX_<key>, which goes before this file, and by\n\
         # --set KEY=VALUE on the command line, which goes before both.\n\
         #\n\
         # A key that is set to nothing has its default, unless it says that it takes nothing.\n",
    );
    let mut section = "";
    for key in key::keys() {
        if key.section != section {
            section = key.section;
            text.push_str(&format!("\n### --- {section} --- ###\n"));
        }
        text.push('\n');
        for line in lines(key) {
            text.push_str(&format!("# {line}\n"));
        }
        text.push_str(&format!("#{}={}\n", key.name, key.default));
    }
    text
}

/// The reference of one key, as several lines.
pub fn entry(key: &Key) -> String {
    let mut text = format!("{}={}\n", key.name, key.default);
    for line in lines(key) {
        text.push_str(&format!("    {line}\n"));
    }
    text
}

/// The reference of every key.
pub fn all() -> String {
    let mut text = String::new();
    let mut section = "";
    for key in key::keys() {
        if key.section != section {
            section = key.section;
            let _ = writeln!(text, "--- {section} ---\n");
        }
        let _ = writeln!(text, "{}", entry(key));
    }
    text
}

fn lines(key: &Key) -> Vec<String> {
    let mut facts = format!("Takes {}.", key.accepts());
    if key.dynamic {
        facts.push_str(" Can be changed while the broker runs.");
    }
    let mut lines = wrap(key.doc);
    lines.extend(wrap(&facts));
    lines
}

fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].len() + 1 + word.len() > WIDTH {
            lines.push(word.to_owned());
        } else {
            let line = &mut lines[last];
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
