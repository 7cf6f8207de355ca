//! A program and its spellings: every change is held against the original at 300 bits.

use ngc_ir::{Body, Context};
use ngc_numerics::{Random, Tensor};

use super::changes::Change;
use super::programs::{Program, agree, programs};
use super::site::changed;

/// A program with its exact result on inputs.
pub struct Original {
    pub program: Program,
    inputs: Vec<Tensor>,
    exact: Tensor,
}

impl Original {
    /// All programs of a folder of testdata.
    pub fn all(context: &Context, folder: &str) -> Vec<Original> {
        let evaluated = |program: Program| {
            let inputs = program.inputs(&mut Random::seeded(&program.name));
            let exact = program.evaluate(context, &program.body, &inputs).expect("a value");
            assert!(agree(&exact, &exact), "@{} is not a number", program.name);
            Original { program, inputs, exact }
        };
        programs(context, folder).into_iter().map(evaluated).collect()
    }

    /// Whether a change leaves what is computed as it is. It must, but where it multiplies a mask by 0.
    pub fn keeps(&self, context: &Context, body: &Body, by: &Change) -> bool {
        let value = self.program.evaluate(context, body, &self.inputs);
        let right = value.as_ref().is_ok_and(|value| agree(value, &self.exact));
        let lost = || value.as_ref().is_ok_and(|value| value.to_f64s().iter().any(|x| x.is_nan()));
        assert!(
            right || (self.program.masks() && lost()),
            "'{}' changes @{}:\n{}\n{value:?}",
            by.name,
            self.program.name,
            self.program.text(body)
        );
        right
    }
}

/// A spelling with so many random changes.
pub fn respelled(
    context: &Context,
    original: &Original,
    among: &[&Change],
    count: usize,
    r: &mut Random,
) -> (Body, Vec<&'static str>) {
    let (mut body, mut made) = (original.program.body.clone(), Vec::new());
    while made.len() < count {
        let change = r.pick(among);
        let ops = body.entry().map_or(0, |block| body.ops(block).count());
        let place = r.below(ops);
        if let Some(next) = changed(context, &body, change, place, r)
            && original.keeps(context, &next, change)
        {
            body = next;
            made.push(change.name);
        }
    }
    (body, made)
}
