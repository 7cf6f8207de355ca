//! How a value over slots is brought to the dimensions of its user.

use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_ir::structure::{Axis, Index, Size};
use ngc_ir::{Attr, Dim, Value};
use ngc_numerics::{DType, Tensor};

use super::Writer;
use crate::term::Map;

impl Writer<'_, '_> {
    /// A value over slots, read at places along dimensions of these extents. Along a dimension on which no place depends
    /// the result has the extent 1.
    pub(super) fn moved(
        &mut self,
        value: Value,
        sizes: &[Size],
        map: &Map,
        extents: &[Size],
    ) -> Result<Value, String> {
        let (mut value, mut axes) = (value, Vec::new());
        for (slot, index) in map.iter().enumerate() {
            let Some((along, axis)) = self.cut(value, slot, &sizes[slot], index, extents)? else {
                return self.gathered(value, sizes, map, extents, slot, &axes);
            };
            value = along;
            axes.push(axis);
        }
        self.placed(value, &axes, extents)
    }

    /// The part of a slot that is read along one dimension or at one place; nothing where it takes a gather.
    fn cut(
        &mut self,
        value: Value,
        slot: usize,
        size: &Size,
        index: &Index,
        extents: &[Size],
    ) -> Result<Option<(Value, Option<Axis>)>, String> {
        if let Some(axis) = index.as_axis()
            && extents[axis.0 as usize] == *size
        {
            return Ok(Some((value, Some(axis))));
        }
        let Some(n) = size.number() else { return Ok(None) };
        let (rest, number) = index.partition(|part| part.as_number().is_none());
        let Some(start) = number.as_number().filter(|start| (0..n as i64).contains(start)) else {
            return Ok(None);
        };
        let (step, count, axis) = match rest.summands().collect::<Vec<_>>()[..] {
            [] => (1, 1, None),
            [(step, ref size, Some(ref digit))] if size.is_one() => {
                let Some(axis) = digit.as_axis() else { return Ok(None) };
                let Some(count) = extents[axis.0 as usize].number() else { return Ok(None) };
                (step, count as i64, Some(axis))
            }
            _ => return Ok(None),
        };
        let last = start + step * (count - 1);
        // Behind a test, places where nothing is read may lie outside.
        if count == 0 || !(0..n as i64).contains(&last) {
            return Ok(None);
        }
        let stop = match last + step.signum() {
            -1 => i64::MIN,
            stop => stop,
        };
        let one = |n: i64| Attr::ints([n]);
        let attrs =
            [("axes", one(slot as i64)), ("starts", one(start)), ("stops", one(stop)), ("steps", one(step))];
        Ok(Some((self.with("ng.slice", &[value], attrs)?, axis)))
    }

    /// Slots that are read along dimensions, in the order of these.
    fn placed(&mut self, value: Value, axes: &[Option<Axis>], extents: &[Size]) -> Result<Value, String> {
        let at_one: Vec<i64> = (0..axes.len()).filter(|&n| axes[n].is_none()).map(|n| n as i64).collect();
        let value = match at_one.is_empty() {
            true => value,
            false => self.with("ng.squeeze", &[value], [("axes", Attr::ints(at_one))])?,
        };
        let own: Vec<usize> = axes.iter().flatten().map(|axis| axis.0 as usize).collect();
        let mut order: Vec<usize> = (0..own.len()).collect();
        order.sort_by_key(|&n| own[n]);
        let mut twice = order.windows(2).filter(|pair| own[pair[0]] == own[pair[1]]);
        if twice.next().is_some() {
            return self.diagonal(value, &own, extents);
        }
        let value = match order.iter().copied().eq(0..own.len()) {
            true => value,
            false => {
                let permutation = Attr::ints(order.iter().map(|&n| n as i64));
                self.with("ng.transpose", &[value], [("permutation", permutation)])?
            }
        };
        let missing: Vec<i64> = (0..extents.len()).filter(|n| !own.contains(n)).map(|n| n as i64).collect();
        match missing.is_empty() {
            true => Ok(value),
            false => self.with("ng.unsqueeze", &[value], [("axes", Attr::ints(missing))]),
        }
    }

    /// Several slots that are read along one dimension.
    fn diagonal(&mut self, value: Value, own: &[usize], extents: &[Size]) -> Result<Value, String> {
        let sizes: Vec<Size> = own.iter().map(|&n| extents[n].clone()).collect();
        let map: Map = own.iter().map(|&n| crate::term::at(n)).collect();
        self.gathered(value, &sizes, &map, extents, 0, &[])
    }

    /// Elements by their constant numbers. The slots before `done` were cut already.
    fn gathered(
        &mut self,
        value: Value,
        sizes: &[Size],
        map: &Map,
        extents: &[Size],
        done: usize,
        axes: &[Option<Axis>],
    ) -> Result<Value, String> {
        let shape = self.builder.ty(value).static_shape().ok_or("an unknown extent is gathered from")?;
        let place = |slot: usize, at: &[i64]| match axes.get(slot).filter(|_| slot < done) {
            Some(Some(axis)) => Some(at[axis.0 as usize]),
            Some(None) => Some(0),
            None => map[slot].value(at, &|_| None),
        };
        let _ = sizes;
        let flat = |at: &[i64]| {
            (0..map.len()).try_fold(0i64, |flat, slot| {
                let n = shape[slot] as i64;
                // Behind a test, places where nothing is read may lie outside.
                Some(flat * n + place(slot, at)?.clamp(0, (n - 1).max(0)))
            })
        };
        let cut: Vec<Index> = axes.iter().flatten().map(|&axis| Index::axis(axis)).collect();
        let speaks: Vec<&Index> = map[done..].iter().chain(&cut).collect();
        let (numbers, result) = self.table(extents, &speaks, flat)?;
        let numbers = Tensor::ints(DType::Int(64), result, numbers)?;
        let numbers = self.builder.constant(tensor_to_attr(&numbers))?;
        let row = self.with(
            "ng.reshape",
            &[value],
            [("shape", Attr::ints([shape.iter().product::<usize>() as i64]))],
        )?;
        self.with(
            "ng.gather",
            &[row, numbers],
            [("axis", Attr::Int(0, ngc_ir::Type::scalar(DType::Int(64))))],
        )
    }

    /// A value with every dimension as long as it is.
    pub(super) fn filled(&mut self, value: Value, extents: &[Size]) -> Result<Value, String> {
        self.stretched(value, extents, 0)
    }

    /// A value with all dimensions from the n-th on as long as they are.
    pub(super) fn stretched(&mut self, value: Value, extents: &[Size], from: usize) -> Result<Value, String> {
        let shape = self.builder.ty(value).shape().unwrap_or_default().to_vec();
        let lead = extents.len() - shape.len();
        let own = |n: usize| n.checked_sub(lead).map_or(Some(1), |k| shape[k].known());
        let short = |n: usize| own(n) == Some(1) && !extents[n].is_one();
        if lead == 0 && !(from..extents.len()).any(short) {
            return Ok(value);
        }
        let target = (0..extents.len()).map(|n| match (short(n) && n >= from, extents[n].number()) {
            (true, Some(n)) => Some(n as i64),
            (true, None) => None,
            (false, _) if n < lead => Some(1),
            (false, _) => Some(-1),
        });
        let target: Vec<i64> =
            target.collect::<Option<_>>().ok_or("a value is repeated along an unknown extent")?;
        if self.builder.ty(value).as_tensor().is_none() || target.iter().any(|&n| n != -1) {
            return self.with("ng.broadcast_to", &[value], [("shape", Attr::ints(target))]);
        }
        debug_assert!(shape.iter().all(|d| matches!(d, Dim::Static(_) | Dim::Dynamic)));
        Ok(value)
    }
}
