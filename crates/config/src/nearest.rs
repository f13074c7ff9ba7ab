//! Names that may have been meant.

/// Up to three of `names` that are nearest to `wanted`, the nearest first; none that is far off.
pub(crate) fn to(wanted: &str, names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let most = (wanted.len() / 4).max(2);
    let wanted = wanted.to_ascii_lowercase();
    let mut found: Vec<(usize, &str)> = names
        .filter(|name| name.len().abs_diff(wanted.len()) <= most)
        .map(|name| (distance(&wanted, &name.to_ascii_lowercase()), name))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, name)| name).collect()
}

/// How many letters must be added, removed or replaced to turn one text into the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_letter_edits() {
        for (a, b, edits) in
            [("", "", 0), ("abc", "", 3), ("abc", "abd", 1), ("abc", "xabc", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }

    #[test]
    fn the_nearest_names_come_first_whatever_their_case() {
        let names = ["webServicePort", "webServicePortTls", "brokerServicePort", "clusterName"];
        assert_eq!(to("webserviceport", names.into_iter()), ["webServicePort", "webServicePortTls"]);
        assert_eq!(to("somethingElse", names.into_iter()), Vec::<&str>::new());
    }
}
