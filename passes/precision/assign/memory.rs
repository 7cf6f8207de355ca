//! The most accurate assignment whose values fit a memory.
//!
//! A value is in memory from the op that makes it to the last one that reads it, arguments from the beginning, and constants, which are
//! the parameters, throughout, in the format of the op that reads them. Ops that only move numbers count as copies. In training
//! all activations stay until the end, and each parameter has a gradient and what the optimiser keeps.

use ngc_ir::{Body, Op, Value as Ssa};
use ngc_numerics::DType;
use ngc_sheaf::Level;
use ngc_sheaf::memory::{Part, Value, fit, profile};
use rustc_hash::FxHashMap;

use super::chain::Chain;
use super::explain::title;
use super::node::{Nodes, elements};
use super::program::bytes;
use crate::precision::constant;
use crate::precision::storage::Storage;

/// What is done with the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is run.
    Inference,
    /// Its parameters are trained by stochastic gradient descent: a gradient in the format of each parameter, and of one that is
    /// narrower than f32 a copy in f32.
    Sgd,
    /// The same by Adam (Kingma, Ba 2015), which keeps two moments in f32.
    Adam,
}

impl Use {
    /// The names of [`Use`], in order.
    pub const NAMES: &'static [&'static str] = &["inference", "sgd", "adam"];

    /// By name.
    pub fn of(name: &str) -> Use {
        match name {
            "sgd" => Use::Sgd,
            "adam" => Use::Adam,
            _ => Use::Inference,
        }
    }

    /// Bytes of a parameter in a format: of itself, of its gradient, and of what is kept beside these.
    fn parameter(self, format: Storage) -> [f64; 3] {
        let copy = if format.width() < 32 { 4.0 } else { 0.0 };
        match self {
            Use::Inference => [bytes(format), 0.0, 0.0],
            Use::Sgd => [bytes(format), bytes(format), copy],
            Use::Adam => [bytes(format), bytes(format), copy + 8.0],
        }
    }
}

/// What of a memory is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Bytes at the op at which there are most.
    pub peak: u64,
    /// That op.
    pub at: String,
    /// Bytes of parameters.
    pub parameters: f64,
    /// Of their gradients, and of what an optimiser keeps; 0 where nothing is trained.
    pub training: [f64; 2],
    /// Of activations at that op.
    pub activations: f64,
}

impl Taken {
    /// What is told of it.
    pub fn text(&self) -> String {
        let Taken { peak, at, parameters, training: [gradients, kept], activations } = self;
        let training = match gradients + kept > 0.0 {
            true => {
                format!(", {} of gradients, {} that the optimiser keeps", human(*gradients), human(*kept))
            }
            false => String::new(),
        };
        format!(
            "memory: {} at most, at {at}: {} of parameters{training}, {} of activations",
            human(*peak as f64),
            human(*parameters),
            human(*activations)
        )
    }
}

/// Bytes, from a number with a unit, as in `24GiB`, `500MB` or `1e9`.
///
/// # Errors
/// A sentence that says how it is written.
pub fn parse(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E')).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let times = match unit.trim() {
        "" | "B" => Some(1.0),
        "kB" | "KB" => Some(1e3),
        "MB" => Some(1e6),
        "GB" => Some(1e9),
        "TB" => Some(1e12),
        "KiB" => Some(1024.0),
        "MiB" => Some(1024f64.powi(2)),
        "GiB" => Some(1024f64.powi(3)),
        "TiB" => Some(1024f64.powi(4)),
        _ => None,
    };
    let bytes = times.zip(number.trim().parse::<f64>().ok()).map(|(times, n)| times * n);
    bytes
        .filter(|bytes| (1.0..1e18).contains(bytes))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| format!("'{text}' is no size of a memory: write it as in 24GiB, 500MB or 1e9"))
}

/// Bytes with a unit, three digits of them.
pub(super) fn human(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let n = (0..units.len() - 1).take_while(|n| bytes >= 1024f64.powi(*n as i32 + 1)).count();
    let scaled = bytes / 1024f64.powi(n as i32);
    let digits = if n == 0 || scaled >= 100.0 {
        0
    } else if scaled >= 10.0 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$} {}", units[n])
}

/// What of a function is in memory, and when.
pub struct Profile<'a> {
    body: &'a Body,
    chain: &'a Chain,
    nodes: &'a Nodes,
    used: Use,
    ops: Vec<Op>,
    /// By node; then those that have one level.
    values: Vec<Value>,
    /// By node: elements of the constants that it reads first.
    weights: Vec<f64>,
    /// Constants that several nodes read: their elements, and these.
    shared: Vec<(f64, Vec<usize>)>,
    /// Bytes of parameters that no node stands for.
    others: f64,
}

impl<'a> Profile<'a> {
    /// Of a function whose extents are known.
    ///
    /// # Errors
    /// Says which op has a result of an unknown extent.
    pub fn of(body: &'a Body, chain: &'a Chain, nodes: &'a Nodes, used: Use) -> Result<Profile<'a>, String> {
        let block = body.entry().ok_or("it is a declaration")?;
        let ops: Vec<Op> = body.ops(block).collect();
        let end = ops.len().saturating_sub(1);
        let mut last: FxHashMap<Ssa, usize> = FxHashMap::default();
        let mut readers: FxHashMap<Ssa, Vec<usize>> = FxHashMap::default();
        for (step, &op) in ops.iter().enumerate() {
            for &v in body.operands(op) {
                last.insert(v, step);
                if let Some(&node) = nodes.of.get(&op) {
                    readers.entry(v).or_default().push(node);
                }
            }
        }
        let until = |v: Ssa, from: usize| match used {
            Use::Inference => last.get(&v).copied().unwrap_or(from),
            _ => end,
        };
        let mut profile = Profile {
            body,
            chain,
            nodes,
            used,
            ops: Vec::new(),
            values: Vec::new(),
            weights: vec![0.0; nodes.nodes.len()],
            shared: Vec::new(),
            others: 0.0,
        };
        for node in &nodes.nodes {
            let errors = node.errors.iter().map(|own| node.alone(*own)).collect();
            profile.values.push(Value { parts: Vec::new(), errors });
        }
        let known = |v: Ssa| body.ty(v).static_shape().is_some();
        for (step, &op) in ops.iter().enumerate() {
            for v in body.results(op) {
                if !known(v) {
                    return Err(format!(
                        "{} has a result of an unknown extent, and how much memory it takes is unknown: state its extents",
                        title(body.name(op), &body.op(op).loc)
                    ));
                }
                if constant(body, v) {
                    let own = readers.get(&v).filter(|_| body.ty(v).format().is_some()).map(Vec::as_slice);
                    match own {
                        Some(&[first, ref more @ ..]) => {
                            profile.weights[first] += elements(body.ty(v));
                            if !more.is_empty() {
                                profile.shared.push((elements(body.ty(v)), own.unwrap_or_default().to_vec()));
                            }
                        }
                        _ => profile.others += stored(body, v),
                    }
                    continue;
                }
                let live = [step, until(v, step)];
                match nodes.of.get(&op) {
                    Some(&node) => profile.part(node, live, |format| elements(body.ty(v)) * bytes(format)),
                    None => profile.single(live, stored(body, v)),
                }
            }
        }
        for &v in body.arguments(block) {
            if !known(v) {
                return Err("an argument has an unknown extent, and how much memory it takes is unknown: state its extents".into());
            }
            profile.single([0, until(v, 0)], stored(body, v));
        }
        for (node, count) in profile.weights.clone().into_iter().enumerate().filter(|(_, count)| *count > 0.0)
        {
            profile.part(node, [0, end], |format| count * used.parameter(format).iter().sum::<f64>());
        }
        profile.single([0, end], profile.others);
        profile.ops = ops;
        Ok(profile)
    }

    fn part(&mut self, node: usize, live: [usize; 2], bytes: impl Fn(Storage) -> f64) {
        let levels = self.nodes.nodes[node].errors.iter();
        let bytes = levels.map(|(level, _)| bytes(self.chain.format(*level)).ceil() as u64).collect();
        self.values[node].parts.push(Part { live, bytes });
    }

    fn single(&mut self, live: [usize; 2], bytes: f64) {
        let parts = vec![Part { live, bytes: vec![bytes.ceil() as u64] }];
        self.values.push(Value { parts, errors: vec![0.0] });
    }

    /// The most accurate assignment found that fits, by node.
    ///
    /// # Errors
    /// Says where the narrowest formats take too much.
    pub fn fit(&self, memory: u64) -> Result<Vec<Level>, String> {
        let fails = |why| format!("no assignment fits {}: {why}", human(memory as f64));
        let mut levels = self.separate(memory).map_err(fails)?;
        let mut left = memory;
        loop {
            let over = self.taken(&levels).peak.saturating_sub(memory);
            if over == 0 {
                return Ok(levels);
            }
            // Constants that are read in several formats take more than the first of these.
            left = left.saturating_sub(over);
            match self.separate(left) {
                Ok(narrower) => levels = narrower,
                Err(_) => break,
            }
        }
        let lowest: Vec<Level> = self.nodes.nodes.iter().map(|node| node.errors[0].0).collect();
        match self.taken(&lowest).peak <= memory {
            true => Ok(lowest),
            false => Err(fails("constants are read in several formats".into())),
        }
    }

    /// The same, as if each constant were read in one format.
    fn separate(&self, memory: u64) -> Result<Vec<Level>, String> {
        let found = fit(&self.values, memory).map_err(|(step, bytes)| {
            let op = self.ops[step];
            format!(
                "at {} the narrowest formats that hold the numbers take {}",
                title(self.body.name(op), &self.body.op(op).loc),
                human(bytes as f64)
            )
        })?;
        let nodes = self.nodes.nodes.iter().zip(&found.levels);
        Ok(nodes.map(|(node, &place)| node.errors[place].0).collect())
    }

    /// What an assignment takes.
    pub fn taken(&self, levels: &[Level]) -> Taken {
        let place = |(node, level): (&super::node::Node, &Level)| {
            node.errors.iter().position(|(own, _)| own == level).unwrap_or(0)
        };
        let mut places: Vec<usize> = self.nodes.nodes.iter().zip(levels).map(place).collect();
        places.resize(self.values.len(), 0);
        let steps = profile(&self.values, &places);
        let most = steps.iter().copied().max().unwrap_or(0);
        let at = steps.iter().position(|bytes| *bytes == most).unwrap_or(0);
        let [mut parameters, mut gradients, mut kept] = [self.others, 0.0, 0.0];
        let format = |node: &usize| self.chain.format(levels[*node]);
        let again = self.shared.iter().map(|(count, readers)| {
            let mut formats: Vec<Storage> = readers.iter().map(format).collect();
            formats.sort_by_key(|own| (own.width(), own.precision()));
            formats.dedup();
            let further = formats.iter().filter(|own| **own != format(&readers[0]));
            count * further.map(|own| bytes(*own)).sum::<f64>()
        });
        let again = again.sum::<f64>().ceil();
        parameters += again;
        let peak = most + again as u64;
        for (count, level) in self.weights.iter().zip(levels) {
            let [own, gradient, beside] = self.used.parameter(self.chain.format(*level));
            parameters += count * own;
            gradients += count * gradient;
            kept += count * beside;
        }
        Taken {
            peak,
            at: self
                .ops
                .get(at)
                .map_or_else(String::new, |op| title(self.body.name(*op), &self.body.op(*op).loc)),
            parameters,
            training: [gradients, kept],
            activations: (peak as f64 - parameters - gradients - kept).max(0.0),
        }
    }
}

/// Bytes of a value as it is given.
fn stored(body: &Body, v: Ssa) -> f64 {
    let ty = body.ty(v);
    elements(ty) * ty.elem().map_or(8, DType::storage_bytes) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memories() {
        let sizes = [
            ("24GiB", 24 << 30),
            ("500MB", 500_000_000),
            ("1e9", 1_000_000_000),
            ("1.5 KiB", 1536),
            ("2 B", 2),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse(text), Ok(bytes));
        }
        for text in ["", "GiB", "-1GB", "0", "inf", "nan", "1e30", "12 Gb", "1,5GB", "1e", "e9"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!([1.0, 1536.0, 26.0 * 1024.0, 4e9].map(human), ["1 B", "1.50 KiB", "26.0 KiB", "3.73 GiB"]);
    }
}
