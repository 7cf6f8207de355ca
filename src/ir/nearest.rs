//! What somebody may have meant by a name that there is not.

/// Longer names are no slips.
const LONGEST: usize = 64;

/// The known name that differs from `name` by the fewest edits, two at the most (Levenshtein's distance, in bytes).
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if name.len() > LONGEST {
        return None;
    }
    known.map(|k| (distance(name, k), k)).filter(|(d, _)| *d <= 2).min().map(|(_, k)| k)
}

fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
