//! Normal forms of dense matrices over the integers: of Smith, and echelons.

use rug::Integer;

/// The invariant factors of a dense matrix that are not 0.
pub fn smith(mut rows: Vec<Vec<Integer>>) -> Vec<Integer> {
    let mut factors = Vec::new();
    while let Some((r, c)) = smallest(&rows) {
        // The least entry, at the corner.
        rows.swap(0, r);
        rows.iter_mut().for_each(|row| row.swap(0, c));
        let corner = rows[0][0].clone();
        let mut clean = true;
        let (first, others) = rows.split_at_mut(1);
        for row in others.iter_mut() {
            let by = Integer::from(&row[0] / &corner);
            row.iter_mut().zip(&first[0]).for_each(|(x, y)| *x -= Integer::from(y * &by));
            clean &= row[0] == 0;
        }
        for column in 1..rows[0].len() {
            let by = Integer::from(&rows[0][column] / &corner);
            for row in &mut rows {
                let change = Integer::from(&row[0] * &by);
                row[column] -= change;
            }
            clean &= rows[0][column] == 0;
        }
        if !clean {
            continue;
        }
        // The corner divides all of the rest, or a row of what it does not divide is added to the first.
        let rest = rows[1..].iter().position(|row| row.iter().any(|x| !x.is_divisible(&corner)));
        if let Some(n) = rest {
            let row = rows[n + 1].clone();
            rows[0].iter_mut().zip(row).for_each(|(x, y)| *x += y);
            continue;
        }
        factors.push(corner.abs());
        rows.remove(0);
        rows.iter_mut().for_each(|row| drop(row.remove(0)));
    }
    factors
}

/// Where the entry of the least size that is not 0 stands.
fn smallest(rows: &[Vec<Integer>]) -> Option<(usize, usize)> {
    let all =
        rows.iter().enumerate().flat_map(|(r, row)| row.iter().enumerate().map(move |(c, x)| (r, c, x)));
    let found = all.filter(|(_, _, x)| **x != 0).min_by(|a, b| a.2.cmp_abs(b.2));
    found.map(|(r, c, _)| (r, c))
}

/// Rows in echelon form that span what the given ones do, none of them 0: as many as the rank.
pub fn echelon(mut rows: Vec<Vec<Integer>>) -> Vec<Vec<Integer>> {
    let width = rows.first().map_or(0, Vec::len);
    let mut done = 0;
    for column in 0..width {
        while let Some(least) = (done..rows.len())
            .filter(|&n| rows[n][column] != 0)
            .min_by(|&a, &b| rows[a][column].cmp_abs(&rows[b][column]))
        {
            rows.swap(done, least);
            let (above, below) = rows.split_at_mut(done + 1);
            let pivot = &above[done];
            let mut clean = true;
            for row in below.iter_mut().filter(|row| row[column] != 0) {
                let by = Integer::from(&row[column] / &pivot[column]);
                row.iter_mut().zip(pivot).for_each(|(x, y)| *x -= Integer::from(y * &by));
                clean &= row[column] == 0;
            }
            if clean {
                done += 1;
                break;
            }
        }
    }
    rows.truncate(done);
    rows
}
