//! The syntax of Java's properties files, as `java.util.Properties.load` reads them, in UTF-8.
//!
//! A logical line is one or more natural lines, all but the last ending in an odd number of backslashes. The key ends
//! at the first `=`, `:` or blank that is not escaped; one `=` or `:` and the blanks around it are dropped. `\t`, `\n`,
//! `\r`, `\f` and `\uXXXX` stand for what they stand for in Java; before any other letter a backslash is dropped.

use std::iter::Peekable;
use std::str::Chars;

#[cfg(test)]
mod tests;

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The key, unescaped.
    pub key: String,
    /// The value, unescaped; blanks at its end are part of it.
    pub value: String,
    /// The natural line the key is on, counted from 1.
    pub line: usize,
}

/// The text is not in properties syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The natural line, counted from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub why: String,
}

/// Reads every property, in the order of the text, also those whose key comes again.
///
/// # Errors
/// [`Malformed`] when a `\u` is not followed by four hexadecimal digits, or stands for half a character.
pub fn parse(text: &str) -> Result<Vec<Property>, Malformed> {
    let mut properties = Vec::new();
    for (line, logical) in LogicalLines::of(text) {
        let malformed = |why| Malformed { line, why };
        let (key, value) = split(&logical);
        properties.push(Property {
            key: unescape(key).map_err(malformed)?,
            value: unescape(value).map_err(malformed)?,
            line,
        });
    }
    Ok(properties)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

/// The logical lines that are not empty or comments, each with the number of its first natural line. Escapes are kept,
/// but for those of line ends.
struct LogicalLines<'a> {
    natural: std::iter::Enumerate<std::vec::IntoIter<&'a str>>,
}

impl<'a> LogicalLines<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines: Vec<&str> = text
            .split('\n')
            .flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
            .map(|line| line.trim_start_matches(is_blank))
            .collect();
        Self { natural: lines.into_iter().enumerate() }
    }
}

impl Iterator for LogicalLines<'_> {
    type Item = (usize, String);

    fn next(&mut self) -> Option<Self::Item> {
        let (index, first) = self.natural.find(|(_, line)| !line.is_empty() && !line.starts_with(['#', '!']))?;
        let mut logical = String::new();
        let mut next = Some(first);
        while let Some(line) = next {
            let backslashes = line.len() - line.trim_end_matches('\\').len();
            if backslashes % 2 == 0 {
                logical.push_str(line);
                break;
            }
            logical.push_str(&line[..line.len() - 1]);
            next = self.natural.next().map(|(_, line)| line);
        }
        Some((index + 1, logical))
    }
}

/// Key and value of a logical line, both still escaped.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c: char| {
        let ends = !escaped && (is_blank(c) || c == '=' || c == ':');
        escaped = c == '\\' && !escaped;
        ends
    });
    let Some(end) = end else { return (line, "") };
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start_matches(is_blank);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, rest.trim_start_matches(is_blank))
}

fn unescape(text: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\u{c}'),
            Some('u') => plain.push(unicode(&mut rest)?),
            Some(other) => plain.push(other),
            None => {}
        }
    }
    Ok(plain)
}

/// The character whose UTF-16 form follows: `XXXX`, or `XXXX\uXXXX` for a surrogate pair.
fn unicode(rest: &mut Peekable<Chars<'_>>) -> Result<char, String> {
    let mut units = vec![code_unit(rest)?];
    if (0xd800..0xdc00).contains(&units[0]) && rest.next_if_eq(&'\\').is_some() && rest.next_if_eq(&'u').is_some() {
        units.push(code_unit(rest)?);
    }
    let decoded: Result<String, _> = char::decode_utf16(units.iter().copied()).collect();
    decoded
        .ok()
        .and_then(|text| text.chars().next())
        .ok_or_else(|| format!("\\u{:04x} is half a character: both halves of a surrogate pair are needed", units[0]))
}

fn code_unit(rest: &mut Peekable<Chars<'_>>) -> Result<u16, String> {
    let digits: String = rest.take(4).collect();
    let is_hex = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(&digits, 16)
        .ok()
        .filter(|_| is_hex)
        .ok_or_else(|| format!("\\u must be followed by four hexadecimal digits, not by `{digits}`"))
}
