//! Formats by module of a network: what of its parameters and activations has which.

use std::fmt::Write;

use super::memory::human;
use super::program::bytes;
use super::report::{Assigned, Row};
use crate::analysis::report::table::align;
use crate::precision::storage::Storage;

/// Modules that are told, at most.
const MOST: usize = 30;

/// Modules of a network that differ in numbers only, such as those of all layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The path of the modules, with a star for each number.
    pub path: String,
    /// By format of the chain: elements of parameters, as they are read, and of results.
    pub elements: Vec<[f64; 2]>,
    /// Bytes of these as they are assigned, all in the widest format of the chain, and as torch has it on CUDA.
    pub bytes: [f64; 3],
}

impl Assigned {
    /// By path of modules, in the order in which they come.
    pub fn components(&self) -> Vec<Component> {
        let mut found: Vec<Component> = Vec::new();
        for row in &self.rows {
            let path = path(row);
            let at = found.iter().position(|component| component.path == path).unwrap_or_else(|| {
                let elements = vec![[0.0; 2]; usize::from(self.chain.len())];
                found.push(Component { path, elements, bytes: [0.0; 3] });
                found.len() - 1
            });
            let Component { elements, bytes: total, .. } = &mut found[at];
            let level = usize::from(self.chain.level(row.format).unwrap_or(0));
            elements[level][0] += row.parameters;
            elements[level][1] += row.elements;
            let widest = self.chain.format(self.chain.len() - 1);
            for (total, format) in total.iter_mut().zip([row.format, widest, row.amp]) {
                *total += (row.parameters + row.elements) * bytes(format);
            }
        }
        found
    }

    /// A table of them, where there are modules.
    pub fn modules(&self) -> String {
        let found = self.components();
        let mut text = String::new();
        if found.len() < 2 {
            return text;
        }
        let widest = self.chain.format(self.chain.len() - 1);
        let heads =
            ["module", "parameters", "activations", "bytes", &format!("of {widest}"), "of torch-cuda"];
        let mut rows = vec![heads.map(str::to_string).to_vec()];
        for Component { path, elements, bytes: [own, wide, amp] } in found.iter().take(MOST) {
            let shares = |n: usize| self.shares(elements, n);
            let part = |of: f64| format!("{:.0}%", 100.0 * own / of);
            rows.push(vec![path.clone(), shares(0), shares(1), human(*own), part(*wide), part(*amp)]);
        }
        align(&rows, &[3, 4, 5], &mut text);
        if found.len() > MOST {
            let _ = writeln!(text, "  and {} more modules", found.len() - MOST);
        }
        text
    }

    /// The part of each format in parameters or in results.
    fn shares(&self, elements: &[[f64; 2]], n: usize) -> String {
        let all: f64 = elements.iter().map(|of| of[n]).sum();
        let of = |(level, of): (usize, &[f64; 2])| {
            let format: Storage = self.chain.format(level as u8);
            (of[n] > 0.0).then(|| format!("{:.0}% {format}", 100.0 * of[n] / all))
        };
        let shares: Vec<String> = elements.iter().enumerate().filter_map(of).collect();
        if shares.is_empty() { "-".into() } else { shares.join(", ") }
    }
}

/// The path of the module that an op is of, with a star for each number.
fn path(row: &Row) -> String {
    let own = row.loc.name_in().and_then(|own| own.rsplit_once('/')).map_or("", |(path, _)| path);
    let star = |part: &str| {
        if part.bytes().all(|b| b.is_ascii_digit()) { "*".to_string() } else { part.to_string() }
    };
    let parts: Vec<String> = own.split('.').filter(|part| !part.is_empty()).map(star).collect();
    if parts.is_empty() { "-".into() } else { parts.join(".") }
}
