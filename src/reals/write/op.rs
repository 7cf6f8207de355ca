//! Terms by ops whose definition they are.

use ngc_ir::structure::{Axis, Index};
use ngc_ir::{Attr, Value};

use super::laid::{Frame, Layout, Scaled, pattern};
use super::{Writer, placed};
use crate::form::OpForm;
use crate::term::{Map, Use, at};

impl Writer<'_, '_> {
    /// A term along its slots by an op.
    pub(super) fn by_op(&mut self, form: &OpForm, of: &Use, frame: &Frame) -> Result<Scaled, String> {
        let name = form.name.as_str();
        let inner = frame.within(&form.over);
        let own = form.operands.iter().map(|x| placed(self.store, x, of, &inner.sizes, form.over.len()));
        let own: Vec<Use> = own.collect::<Result<_, _>>()?;
        if form.over.is_empty() {
            let (parts, order) = self.parts(&own, frame)?;
            let parts = parts.iter().map(|x| self.settled(x, &order)).collect::<Result<Vec<_>, _>>()?;
            let value = self.pointwise(name, form.attrs.clone(), &parts, &order)?;
            return Ok(Scaled::value(value).times(&form.factor));
        }
        let def = self.builder.context.op(name).ok_or("an op that is not declared")?;
        let along: Vec<usize> = (frame.sizes.len()..inner.sizes.len()).collect();
        let mut operands: Vec<(Value, Layout)> = Vec::new();
        for operand in &own {
            let term = self.term(operand, &inner)?;
            operands.push(self.settled(&term, &inner.order)?);
        }
        // Parameters of an op lie along the dimensions that it works along, which are the last ones then.
        if def.operands.len() > 1 {
            let own: Layout = along.iter().map(|&d| Some(d)).collect();
            for (n, (value, dims)) in operands.iter_mut().enumerate() {
                let rest = dims.iter().copied().filter(|d| d.is_some_and(|d| !along.contains(&d)));
                let wanted =
                    if n == 0 { rest.chain(own.iter().copied()).collect() } else { pattern(dims, &own) };
                (*value, *dims) = self.arranged(*value, dims, &wanted, 0)?;
            }
        }
        let first = operands.first().cloned().ok_or("an op without operands")?;
        let first = self.stretched(first, &inner.sizes, frame.sizes.len()..inner.sizes.len())?;
        let place = |d: &usize| first.1.iter().position(|x| *x == Some(*d));
        let axes: Vec<usize> = along.iter().filter_map(place).collect();
        let mut attrs = form.attrs.clone();
        let Some(places) = &form.at else {
            let mut sorted = axes;
            sorted.sort_unstable();
            let of = self.reduced(name, attrs, first, sorted, None);
            return Ok(Scaled { factor: form.factor.clone(), of });
        };
        let axis = axes.iter().min().ok_or("an op along no axis")?;
        attrs.set("axis", Attr::int(*axis as i64));
        let values: Vec<Value> =
            [first.0].into_iter().chain(operands[1..].iter().map(|(value, _)| *value)).collect();
        let whole = Scaled::value((self.with(name, &values, attrs)?, first.1));
        let by = |Axis(n)| of.map.get(n as usize).cloned().unwrap_or(Index::ZERO);
        let places: Option<Map> = places.iter().map(|index| index.substituted(&by, &frame.sizes)).collect();
        let map = (0..frame.sizes.len()).map(at).chain(places.ok_or("its places are too large")?).collect();
        self.read(whole.times(&form.factor), &inner.sizes, &map, frame)
    }
}
