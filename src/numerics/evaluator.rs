//! (being written)

/// How values are rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Each in its own format.
    Rounded,
    /// All in one format.
    Uniform(crate::Format),
    /// At high precision.
    Real {
        /// Bits.
        bits: u32,
    },
}

/// Evaluates.
pub struct Evaluator {
    /// Mode.
    pub mode: Mode,
}

/// Method.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SumMethod {
    Naive,
    Pairwise,
    Kahan,
    Neumaier,
}
