//! The charts by name, with what there is to say about each.

use crate::laws::text::{self, Text};

/// A law of a chart: one for every kind of node, so it is no line of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chart {
    /// A value as its logarithm.
    Log,
    /// The logarithm of a multiple of an exponential.
    ScaledLog,
    /// A value beside the greatest of its kind.
    Scaled,
    /// Distances from 1.
    Complement,
    /// Sums of weighted values near 1.
    Mixture,
    /// Distances from a mean.
    Centred,
    /// Vectors divided by their lengths.
    Direction,
    /// What projections leave.
    Gram,
    /// One quotient.
    CommonDenominator,
    /// Polynomials in brackets.
    Horner,
    /// Polynomials as products.
    Factored,
    /// Factors beside divisors.
    PairedFactors,
    /// Powers of products.
    PowersInside,
    /// Functions that vanish at 0 beside their arguments.
    Origin,
    /// Weights times logarithms of what they are multiples of.
    Divergence,
}

impl Chart {
    /// All of them.
    pub const ALL: [Chart; 15] = [
        Chart::Log,
        Chart::ScaledLog,
        Chart::Scaled,
        Chart::Complement,
        Chart::Mixture,
        Chart::Centred,
        Chart::Direction,
        Chart::Gram,
        Chart::CommonDenominator,
        Chart::Horner,
        Chart::Factored,
        Chart::PairedFactors,
        Chart::PowersInside,
        Chart::Origin,
        Chart::Divergence,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Chart::Log => "log-chart",
            Chart::ScaledLog => "scaled-log-chart",
            Chart::Scaled => "scaled-chart",
            Chart::Complement => "complement-chart",
            Chart::Mixture => "mixture-chart",
            Chart::Centred => "centred-chart",
            Chart::Direction => "direction-chart",
            Chart::Gram => "gram-chart",
            Chart::CommonDenominator => "common-denominator",
            Chart::Horner => "horner",
            Chart::Factored => "factored",
            Chart::PairedFactors => "paired-factors",
            Chart::PowersInside => "powers-inside",
            Chart::Origin => "origin-chart",
            Chart::Divergence => "divergence-chart",
        }
    }

    /// What it does and why. The first sentence says what it is for.
    pub const fn doc(self) -> &'static str {
        match self {
            Chart::Log => {
                "What overflows or vanishes as a product or as an exponential is moderate as a logarithm. The logarithm is \
                 pushed inside: that of a product is the sum of the logarithms, that of a sum is taken of exponentials of \
                 logarithms, that of an exponential is its argument."
            }
            Chart::ScaledLog => {
                "The logarithm of a sum of exponentials with factors of any sign is the greatest exponent and the logarithm \
                 of what is left. No exponential is above 1 then."
            }
            Chart::Scaled => {
                "Sums of exponentials or of powers overflow or vanish where the value that they are scaled by does not. \
                 Every sum is divided by its greatest exponential or magnitude; scales add up in products and cancel in \
                 quotients."
            }
            Chart::Complement => {
                "A value near 1 keeps no digits of its distance from 1. The distance itself is pushed inside: that of a \
                 product, a power, an exponential or a quotient is made of the distances of its parts."
            }
            Chart::Mixture => {
                "A sum of weighted values near 1 keeps no digits of its distance from the sum of the weights. The distances \
                 are weighted instead, and the logarithm is log1p of their sum."
            }
            Chart::Centred => {
                "A difference of squares, or of a mean of squares and the square of a mean, cancels where the values lie close \
                 together. What the values have in common is subtracted first, and the squares are those of differences."
            }
            Chart::CommonDenominator => {
                "Fractions that cancel do so exactly over a common denominator. The numerator is collected as a polynomial \
                 with exact coefficients before anything is rounded."
            }
            Chart::Direction => {
                "Of nearly parallel vectors the cosine is near 1 or -1, or just beyond, and cancels against them. Half of the square \
                 of the chord between their directions is what is left, and the diagonals of the rhombus of the directions give the angle."
            }
            Chart::Gram => {
                "A product of two sums of squares less the square of the sum of the products cancels where one vector is nearly a \
                 multiple of the other. The multiple is taken away from each element first, and the squares are those of what is left."
            }
            Chart::Horner => {
                "The powers of a polynomial round, and overflow before they meet. In nested form none is taken; the \
                 numerator of a quotient is collected exactly first."
            }
            Chart::Factored => {
                "A polynomial cancels near its zeros, while the factor that is zero there does not. The differences and sums \
                 of two values, or of one and 1, that divide a polynomial are taken out; of nearly equal values they are exact."
            }
            Chart::PairedFactors => {
                "Products above and below a line may overflow or underflow where the quotient does not. Each factor is \
                 divided by one of the divisors first."
            }
            Chart::Origin => {
                "A function that vanishes at 0 does so too early where its argument is a product that underflows. Its \
                 quotient by the argument is near 1 there, and the argument's factors meet those around the function."
            }
            Chart::Divergence => {
                "Weights times logarithms of what they are multiples of cancel where distributions are near each other. What \
                 each adds beside the difference of weights is no negative number; the differences add up to nothing."
            }
            Chart::PowersInside => {
                "A product may overflow or underflow under a root. The root of each factor is taken instead, where no factor \
                 is negative."
            }
        }
    }

    /// A term that it cures, written as a side of a law.
    pub const fn example(self) -> &'static str {
        match self {
            Chart::Log => "log(sum[j] (exp(a[j]) * exp(b)))",
            Chart::ScaledLog => "log(exp(a) * b + exp(a) * c)",
            Chart::Scaled => "exp(a) / (exp(a) + exp(b))",
            Chart::Complement => "1 - a^2 / (1 + a^2)",
            Chart::Mixture => "log(exp(a)/2 + exp(b)/2)",
            Chart::Centred => "a^2 + b^2 - 2 * a * b",
            Chart::Direction => "1 - (sum[j] (a[j] * b[j])) / (sqrt(sum[j] a[j]^2) * sqrt(sum[j] b[j]^2))",
            Chart::Gram => "sum[j] a[j]^2 - (sum[j] (a[j] * b[j]))^2 / (sum[j] b[j]^2)",
            Chart::CommonDenominator => "1/a - 1/(a + 1)",
            Chart::Horner => "a^3 + 3 * a^2 + 3 * a + 1",
            Chart::Factored => "a^3 - a^2 * b - a * b^2 + b^3",
            Chart::PairedFactors => "a * b / (c * d)",
            Chart::PowersInside => "(prod[j] abs(a[j]))^(1/3)",
            Chart::Origin => "sin(a * b) / a",
            Chart::Divergence => "a * log(a / b) - a + b",
        }
    }

    /// The example, as the left side of a law.
    pub fn text(self) -> Option<Text> {
        let text = format!("/// An example.\nexample: {} = 0\n", self.example());
        text::parse(&text, 0).ok()?.pop()
    }

    /// The chart of a name.
    pub fn named(name: &str) -> Option<Chart> {
        Chart::ALL.into_iter().find(|chart| chart.name() == name)
    }
}
