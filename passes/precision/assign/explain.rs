//! Why an op has the format that it has: what is against a lower one, and the ops that lead there.

use std::fmt::Write;

use ngc_ir::{Loc, Sources};

use super::report::{Against, Assigned, Reason, Row, demanded, range_text};
use crate::analysis::range::reach;
use crate::analysis::report::table::place;

/// Ops of a path that are told, at most.
const PATH: usize = 12;

impl Assigned {
    /// Of each op of this name, or of a name that its location has: its format, and what leads there.
    pub fn explain(&self, wanted: &str, sources: &Sources) -> String {
        let file = sources.resolve(&self.loc).map(|(file, _)| file);
        let mut text = String::new();
        for (n, row) in self.rows.iter().enumerate().filter(|(_, row)| row.is_called(wanted)) {
            let at = place(&row.loc, sources, file.as_deref());
            let _ = writeln!(
                text,
                "explain-precision: {} at {at} of @{} in {}",
                row.title(),
                self.function,
                row.format
            );
            let bits = row.bits.map(|bits| format!(", {}", demanded(bits))).unwrap_or_default();
            let _ = writeln!(text, "  range {}, headroom {}{bits}", range_text(&row.range), row.headroom());
            let Some(reason) = &row.reason else {
                let _ = writeln!(text, "  no lower format is among {}", self.chain);
                continue;
            };
            let _ = writeln!(text, "  {reason}");
            let path = match reason.kind {
                Against::Range => self.upstream(n, reason),
                Against::Error => self.downstream(n),
                Against::Curvature | Against::Unasked | Against::Cost => Vec::new(),
            };
            if path.len() > 1 {
                let what = match reason.kind {
                    Against::Range => "the range grows along",
                    _ => "its rounding reaches the result along",
                };
                let _ = writeln!(text, "  {what}: {}", self.path(&path, reason));
            }
            if let Some(([from, to], gap)) = self.opening(n) {
                let (from, to) = (self.rows[from].title(), self.rows[to].title());
                let _ = writeln!(text, "  the gap opens at {from} -> {to}: {gap} bits");
            }
        }
        text
    }

    /// The ops that a number went through until it left a format, backwards from an op, in order.
    fn upstream(&self, op: usize, reason: &Reason) -> Vec<usize> {
        let mut path = vec![op];
        let fits = |n: usize| reason.format.word().round(reach(&self.rows[n].range)).is_finite();
        let mut at = op;
        let operands = |at: usize| self.edges.iter().filter(move |edge| edge[1] == at).map(|edge| edge[0]);
        let most = |a: &usize, b: &usize| {
            reach(&self.rows[*a].range).total_cmp(&reach(&self.rows[*b].range)).then(b.cmp(a))
        };
        while let Some(next) = operands(at).max_by(most) {
            path.push(next);
            if fits(next) {
                break;
            }
            at = next;
        }
        path.reverse();
        path
    }

    /// The ops that read each other from an op to a result, those that demand most.
    fn downstream(&self, op: usize) -> Vec<usize> {
        let mut path = vec![op];
        let readers = |at: usize| self.edges.iter().filter(move |edge| edge[0] == at).map(|edge| edge[1]);
        let most =
            |a: &usize, b: &usize| self.rows[*a].whole_bits().cmp(&self.rows[*b].whole_bits()).then(b.cmp(a));
        while let Some(next) = path.last().and_then(|&at| readers(at).max_by(most)) {
            path.push(next);
        }
        path
    }

    fn path(&self, path: &[usize], reason: &Reason) -> String {
        let title = |&n: &usize| {
            let row = &self.rows[n];
            match reason.kind {
                Against::Range => format!("{} {}", row.title(), range_text(&row.range)),
                _ => format!("{} ({} bits)", row.title(), row.whole_bits()),
            }
        };
        let all: Vec<String> = path.iter().map(title).collect();
        if all.len() <= PATH {
            return all.join(" -> ");
        }
        let (head, tail) = (&all[..PATH / 2], &all[all.len() - PATH / 2..]);
        format!("{} -> ... -> {}", head.join(" -> "), tail.join(" -> "))
    }

    /// The edge of an op at which the format changes and the bits that are demanded differ most, and by how many.
    fn opening(&self, op: usize) -> Option<([usize; 2], i64)> {
        let changes = |edge: &&[usize; 2]| self.rows[edge[0]].format != self.rows[edge[1]].format;
        let own = self.edges.iter().filter(|edge| edge.contains(&op)).filter(changes);
        let gap =
            |edge: &[usize; 2]| (self.rows[edge[1]].whole_bits() - self.rows[edge[0]].whole_bits()).abs();
        own.map(|edge| (*edge, gap(edge))).max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)))
    }
}

impl Row {
    /// The op's name, with the name that its location has.
    pub fn title(&self) -> String {
        title(self.name, &self.loc)
    }

    fn is_called(&self, wanted: &str) -> bool {
        is_called(self.name, &self.loc, wanted)
    }
}

/// Whether a name is an op's, with its dialect or without, or that of its location, or of a module that it lies in, or the end of
/// one of these.
pub fn is_called(name: &str, loc: &Loc, wanted: &str) -> bool {
    let own = loc.name_in().unwrap_or_default();
    let within = own.match_indices(wanted).any(|(at, _)| {
        let ends = |c: Option<char>| c.is_none_or(|c| c == '.' || c == '/');
        ends(own[..at].chars().next_back()) && ends(own[at + wanted.len()..].chars().next())
    });
    name == wanted
        || name.split_once('.').is_some_and(|(_, bare)| bare == wanted)
        || !wanted.is_empty() && within
}

/// An op's name with the name of its location.
pub fn title(name: &str, loc: &Loc) -> String {
    loc.name_in().map_or_else(|| name.to_string(), |own| format!("{name} '{own}'"))
}
