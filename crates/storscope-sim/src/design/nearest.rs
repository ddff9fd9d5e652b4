//! What somebody may have meant: the nearest of some names, if it is near enough.

/// The name that differs least from what was written; none where even that is another word.
pub fn nearest<'names>(written: &str, names: impl Iterator<Item = &'names str>) -> Option<&'names str> {
    let most = 1 + written.chars().count() / 5;
    nearest_within(written, names, most)
}

/// The same with up to so many letters changed. Capitals do not count.
pub fn nearest_within<'names>(
    written: &str,
    names: impl Iterator<Item = &'names str>,
    most: usize,
) -> Option<&'names str> {
    let written = written.to_lowercase();
    let far = names.map(|name| (distance(&name.to_lowercase(), &written), name));
    far.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// How many letters have to be changed, added or left out (Levenshtein 1966).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (at, other) in right.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let names = ["drive", "count", "layout", "size", "write_amplification"];
        for (written, meant) in [
            ("cuont", Some("count")),
            ("Size", Some("size")),
            ("sizes", Some("size")),
            ("write_amplifcation", Some("write_amplification")),
            ("stripe", None),
            ("cap", None),
            ("side", Some("size")),
            ("wide", None),
        ] {
            assert_eq!(nearest(written, names.into_iter()), meant, "{written}");
        }
    }
}
