//! The polynomial with the least largest error of those whose values at some arguments lie in intervals, by a linear program.
//!
//! Its unknowns are what is added to the best polynomial, in a basis of polynomials that are orthogonal at the points where errors
//! are looked at, so that the solver, which computes in `f64`, is asked about numbers near 1.

use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Variable};
use ngc_numerics::Format;
use rug::Float;

use super::remez::{BITS, Fitted, Problem, power};

/// What the value of a polynomial must be at an argument.
pub struct Demand {
    /// The argument.
    pub at: Float,
    /// It is no less than this.
    pub least: Float,
    /// It is no more than this.
    pub most: Float,
}

/// An end of an interval that lies so many times the best error away from the best polynomial demands nothing.
const FAR: f64 = 1e6;
/// Factors below this, beside others near 1, are left out: the solver takes no wider range. What is made is looked at exactly.
const LEAST: f64 = 1e-6;

impl Problem<'_> {
    /// The polynomial with the least largest error of those that meet demands; its coefficients are numbers of a format, and some may
    /// be given. They are rounded one after the other, from the lowest power up, and those above make up for what was lost.
    ///
    /// # Errors
    /// When there is none, or none was found.
    pub(super) fn meeting(
        &self,
        format: Format,
        given: &[Option<Float>],
        demands: &[Demand],
    ) -> Result<Fitted, String> {
        let mut kept = given.to_vec();
        while let Some(next) = kept.iter().position(Option::is_none) {
            let coefficient = &self.within(&kept, demands)?[next];
            kept[next] = Some(Float::with_val(BITS, format.round_real(coefficient)));
        }
        let coefficients: Vec<Float> = kept.into_iter().flatten().collect();
        let error = self.largest(&coefficients);
        Ok(Fitted { coefficients, error })
    }

    /// The best coefficients, where some are given.
    fn within(&self, kept: &[Option<Float>], demands: &[Demand]) -> Result<Vec<Float>, String> {
        let best = self.fit(kept)?;
        let free: Vec<usize> = (0..kept.len()).filter(|&n| kept[n].is_none()).collect();
        let basis = self.basis(&free)?;
        let in_best = |x: Float| (x / best.error).to_f64();
        let mut program = microlp::Problem::new(OptimizationDirection::Minimize);
        let largest = program.add_var(1.0, (0.0, f64::INFINITY));
        let parts: Vec<Variable> =
            basis.iter().map(|_| program.add_var(0.0, (f64::NEG_INFINITY, f64::INFINITY))).collect();
        let sum = |values: &[f64]| {
            let mut sum = LinearExpr::empty();
            let counts = parts.iter().zip(values).filter(|(_, value)| value.abs() > LEAST);
            counts.for_each(|(&part, &value)| sum.add(part, value));
            sum
        };
        for (n, error) in self.errors(&best.coefficients).into_iter().enumerate() {
            let (error, values): (f64, Vec<f64>) =
                (in_best(error), basis.iter().map(|b| b.values[n].to_f64()).collect());
            let (mut above, mut below) = (sum(&values), sum(&values));
            above.add(largest, -1.0);
            below.add(largest, 1.0);
            program.add_constraint(above, ComparisonOp::Le, -error);
            program.add_constraint(below, ComparisonOp::Ge, -error);
        }
        for Demand { at, least, most } in demands {
            let value = self.value(&best.coefficients, at);
            let values: Vec<f64> = basis.iter().map(|b| self.value(&b.coefficients, at).to_f64()).collect();
            // The greatest factor is 1.
            let size = values.iter().map(|v| v.abs()).fold(0.0, f64::max);
            let end = |end: &Float| in_best(Float::with_val(BITS, end - &value) / size);
            let values: Vec<f64> = values.iter().map(|v| v / size).collect();
            let (least, most) = (end(least), end(most));
            if least > -FAR {
                program.add_constraint(sum(&values), ComparisonOp::Ge, least);
            }
            if most < FAR {
                program.add_constraint(sum(&values), ComparisonOp::Le, most);
            }
        }
        let none = "no polynomial with these powers was found whose values make all these results right";
        let solution = program.solve().map_err(|e| format!("{none}: {e}"))?;
        let solution = solution.into_solution().map_err(|_| none.to_string())?;
        let mut coefficients = best.coefficients;
        for (b, part) in basis.iter().zip(parts) {
            let part = Float::with_val(BITS, solution.var_value(part)) * best.error;
            for (c, of) in coefficients.iter_mut().zip(&b.coefficients) {
                *c += Float::with_val(BITS, of * &part);
            }
        }
        Ok(coefficients)
    }

    /// As many orthogonal polynomials as there are powers, by Gram and Schmidt.
    fn basis(&self, free: &[usize]) -> Result<Vec<Part>, String> {
        let mut basis: Vec<Part> = Vec::new();
        for &k in free {
            let n = self.exponents[k];
            let mut coefficients = vec![Float::new(BITS); self.exponents.len()];
            coefficients[k] = Float::with_val(BITS, 1);
            let mut part =
                Part { coefficients, values: self.points.iter().map(|p| power(&p.x, n) / &p.unit).collect() };
            for other in &basis {
                let share = product(&part, other) / product(other, other);
                part.add(other, &-share);
            }
            let largest = part.values.iter().map(|v| v.to_f64().abs()).fold(0.0, f64::max);
            if largest == 0.0 {
                return Err("the powers do not tell the points of the interval apart".into());
            }
            part.values.iter_mut().chain(&mut part.coefficients).for_each(|v| *v /= largest);
            basis.push(part);
        }
        Ok(basis)
    }
}

/// A polynomial, and its weighted values at the points.
struct Part {
    coefficients: Vec<Float>,
    values: Vec<Float>,
}

impl Part {
    fn add(&mut self, other: &Part, share: &Float) {
        let both = self.values.iter_mut().chain(&mut self.coefficients);
        for (v, of) in both.zip(other.values.iter().chain(&other.coefficients)) {
            *v += Float::with_val(BITS, of * share);
        }
    }
}

fn product(a: &Part, b: &Part) -> Float {
    let mut sum = Float::new(BITS);
    for (x, y) in a.values.iter().zip(&b.values) {
        sum += Float::with_val(BITS, x * y);
    }
    sum
}
