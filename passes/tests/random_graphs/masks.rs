//! Values under masks, and what is made of their lines: maxima, sums, softmax in steps.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::{DType, Tensor};

use super::{Sketch, numbers};

impl Sketch<'_> {
    /// A value of which a mask takes elements away, from an argument of moderate size, and ops on its lines. The mask is a constant or an argument, and leaves an element of each line, or not.
    pub(super) fn masked(&mut self) {
        let shape = [1 + self.r.below(3), 2 + self.r.below(3), 2 + self.r.below(3)];
        let elem = DType::Float(self.format);
        let range = self.r.pick(&[(-3.0, 3.0), (0.5, 2.0), (-100.0, 20.0)]);
        let x = self.argument_in(elem, &shape, range);
        let Some(mut value) = self.under_mask(x, &shape[1..]) else { return };
        let any = ["exp", "neg", "abs", "square", "tanh", "relu"];
        if self.r.chance(30) {
            let name = format!("ng.{}", self.r.pick(&any));
            value = self.made(&name, &[value], AttrDict::EMPTY).unwrap_or(value);
        }
        let last = shape.len() as i64 - 1;
        let mut axis = if self.r.chance(60) { last } else { self.r.below(3) as i64 };
        if self.r.chance(20) {
            let order = self.r.pick(&[[0, 2, 1], [2, 1, 0], [1, 0, 2]]);
            let attrs = AttrDict::from([("permutation", Attr::ints(order))]);
            value = self.made("ng.transpose", &[value], attrs).unwrap_or(value);
            axis = order.iter().position(|&a| a == axis).map_or(axis, |at| at as i64);
        }
        let lines = || AttrDict::from([("axes", Attr::ints([axis])), ("keepdims", Attr::Bool(true))]);
        let greatest = self.r.pick(&["ng.reduce_max", "ng.reduce_max", "ng.reduce_min"]);
        let Some(most) = self.made(greatest, &[value], lines()) else { return };
        let shifted =
            if self.r.chance(70) { self.made("ng.sub", &[value, most], AttrDict::EMPTY) } else { None };
        let Some(e) = self.made("ng.exp", &[shifted.unwrap_or(value)], AttrDict::EMPTY) else { return };
        let Some(sum) = self.made("ng.reduce_sum", &[e], lines()) else { return };
        self.made("ng.div", &[e, sum], AttrDict::EMPTY);
    }

    fn made(&mut self, name: &str, operands: &[Value], attrs: AttrDict) -> Option<Value> {
        let op = self.op(name, operands, attrs)?;
        Some(self.body.result(op, 0))
    }

    fn under_mask(&mut self, x: Value, shape: &[usize]) -> Option<Value> {
        let elem = DType::Float(self.format);
        let n = shape.iter().product();
        // A mask that leaves the first of each line, the diagonal and what is before it, or anything.
        let form = self.r.below(3);
        let left: Vec<bool> = (0..n)
            .map(|i| match form {
                0 => i % shape[1] == 0 || self.r.chance(50),
                1 => i % shape[1] <= i / shape[1],
                _ => self.r.chance(60),
            })
            .collect();
        let far = numbers::far(self.r, self.format);
        let filled =
            |yes: f64, no: f64| -> Vec<f64> { left.iter().map(|&l| if l { yes } else { no }).collect() };
        let floats = |data| Tensor::floats(self.format, shape.to_vec(), data).expect("fits");
        let truth = Tensor::ints(DType::BOOL, shape.to_vec(), left.iter().map(|&l| i64::from(l)).collect());
        match self.r.below(4) {
            0 => {
                let mask = floats(filled(0.0, far));
                let mask = self.constant_of(&mask);
                self.made("ng.add", &[x, mask], AttrDict::EMPTY)
            }
            1 => {
                let mask = floats(filled(1.0, 0.0));
                let mask = self.constant_of(&mask);
                let value = if self.r.chance(70) { self.made("ng.exp", &[x], AttrDict::EMPTY)? } else { x };
                self.made("ng.mul", &[value, mask], AttrDict::EMPTY)
            }
            _ => {
                let mask = if self.r.chance(70) {
                    self.constant_of(&truth.expect("fits"))
                } else {
                    self.argument(DType::BOOL, shape)
                };
                let fill = Tensor::scalar(self.format, far);
                let fill = if self.r.chance(70) { self.constant_of(&fill) } else { self.argument(elem, &[]) };
                let operands = if self.r.chance(70) { [mask, x, fill] } else { [mask, fill, x] };
                self.made("ng.where", &operands, AttrDict::EMPTY)
            }
        }
    }
}
