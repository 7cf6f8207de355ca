//! Error functionals `Φ(ε) = L ε + Δ` of maps with several inputs and outputs, as the arrows of a monoidal category:
//! objects are numbers of values, [`then`](ErrorFunctional::then) composes in sequence, [`beside`](ErrorFunctional::beside)
//! in parallel on inputs of their own. A shared input is one that is copied first: its paths add up.
//!
//! Identity, associativity and interchange hold up to rounding, which is upward, and exactly where no number is rounded.
//! Jumps are the exception: one is counted for every path that leads to it, so a sequence grouped to the right may count
//! it oftener. All groupings are bounds.

use smallvec::SmallVec;

use crate::figures::{Figures, Sensitivity, add};

/// How errors of the inputs of a map become errors of its outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorFunctional {
    inputs: usize,
    outputs: Vec<Output>,
}

/// One output: how the error of each input passes to it, and what the map itself adds.
#[derive(Clone, Debug, PartialEq)]
struct Output {
    ways: SmallVec<[Sensitivity; 3]>,
    delta: f64,
}

/// The ways to an output by paths over intermediate values: `ways` leads from these to the output, `paths` from the
/// `inputs` to each of these.
pub fn along<'a>(
    ways: &[Sensitivity],
    paths: impl IntoIterator<Item = &'a [Sensitivity]>,
    inputs: usize,
) -> SmallVec<[Sensitivity; 3]> {
    let mut sum: SmallVec<[Sensitivity; 3]> = SmallVec::from_elem(Sensitivity::NONE, inputs);
    for (way, path) in ways.iter().zip(paths) {
        for (total, first) in sum.iter_mut().zip(path) {
            *total = total.and(&way.after(first));
        }
    }
    sum
}

impl ErrorFunctional {
    /// Every value as it is.
    pub fn identity(values: usize) -> ErrorFunctional {
        ErrorFunctional::choosing(values, 0..values)
    }

    /// Every value twice: all of them, then all of them again.
    pub fn copy(values: usize) -> ErrorFunctional {
        ErrorFunctional::choosing(values, (0..values).chain(0..values))
    }

    /// Outputs that are each one of the inputs.
    ///
    /// # Panics
    /// When an input that is chosen does not exist.
    pub fn choosing(inputs: usize, chosen: impl IntoIterator<Item = usize>) -> ErrorFunctional {
        let output = |i: usize| {
            let mut ways = SmallVec::from_elem(Sensitivity::NONE, inputs);
            ways[i] = Sensitivity::ONE;
            Output { ways, delta: 0.0 }
        };
        ErrorFunctional { inputs, outputs: chosen.into_iter().map(output).collect() }
    }

    /// Of an op with `inputs` operands and these figures of its results.
    pub fn of_figures(inputs: usize, results: &[Figures]) -> ErrorFunctional {
        let output = |figures: &Figures| {
            let mut ways = figures.sensitivity.clone();
            ways.resize(inputs, Sensitivity::NONE);
            Output { ways, delta: figures.delta }
        };
        ErrorFunctional { inputs, outputs: results.iter().map(output).collect() }
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// How the error of an input passes to an output.
    pub fn way(&self, output: usize, input: usize) -> Sensitivity {
        self.outputs[output].ways[input]
    }

    /// What the map itself adds to an output.
    pub fn delta(&self, output: usize) -> f64 {
        self.outputs[output].delta
    }

    /// First this, then `next`: ways are multiplied, and what this adds passes through `next`.
    ///
    /// # Panics
    /// When `next` does not take as many values as this gives.
    pub fn then(&self, next: &ErrorFunctional) -> ErrorFunctional {
        assert_eq!(self.outputs(), next.inputs, "a sequence of maps that do not fit");
        let deltas: Vec<f64> = self.outputs.iter().map(|output| output.delta).collect();
        let output = |second: &Output| Output {
            ways: along(&second.ways, self.outputs.iter().map(|first| &first.ways[..]), self.inputs),
            delta: second.pass(&deltas),
        };
        ErrorFunctional { inputs: self.inputs, outputs: next.outputs.iter().map(output).collect() }
    }

    /// This on the first inputs, `other` on the others.
    pub fn beside(&self, other: &ErrorFunctional) -> ErrorFunctional {
        let inputs = self.inputs + other.inputs;
        let placed = |output: &Output, before: usize| {
            let mut ways = SmallVec::from_elem(Sensitivity::NONE, inputs);
            ways[before..before + output.ways.len()].copy_from_slice(&output.ways);
            Output { ways, delta: output.delta }
        };
        let first = self.outputs.iter().map(|output| placed(output, 0));
        let second = other.outputs.iter().map(|output| placed(output, self.inputs));
        ErrorFunctional { inputs, outputs: first.chain(second).collect() }
    }

    /// Bounds of the errors of the outputs, from those of the inputs.
    pub fn errors(&self, inputs: &[f64]) -> Vec<f64> {
        self.outputs.iter().map(|output| output.pass(inputs)).collect()
    }
}

impl Output {
    fn pass(&self, errors: &[f64]) -> f64 {
        self.ways.iter().zip(errors).fold(self.delta, |sum, (way, &e)| add(sum, way.pass(e)))
    }
}
