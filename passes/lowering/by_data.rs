//! Ops of which data decide the places: the extreme element, the order of elements, elements put elsewhere.

use ngc_dialects::ng::argmax::{ARGMAX, ARGMIN};
use ngc_dialects::ng::arith::{ADD, MAX, MIN, MUL};
use ngc_dialects::ng::infer::normalize_axis;
use ngc_dialects::ng::scatter::{SCATTER_ELEMENTS, SCATTER_ND};
use ngc_dialects::ng::sort::SORT;
use ngc_ir::structure::{Coordinate, Element, Index, Size, place};
use ngc_ir::{Body, Op, OpDef, Value};
use ngc_numerics::{DType, Reduce, SumMethod};

use super::graph::{Graph, Meaning, OfEqual, Ranking, Reduction, Scatter, refusal};

impl Graph {
    /// Reads such an op; nothing for another one.
    pub fn by_data(
        &mut self,
        body: &Body,
        op: Op,
        def: &'static OpDef,
        extents: &[Vec<Size>],
    ) -> Option<Result<(), String>> {
        let is = |other: &'static OpDef| std::ptr::eq(def, other);
        if is(&SORT) {
            return Some(self.sorted(body, op, def, &extents[0]));
        }
        if is(&SCATTER_ELEMENTS) || is(&SCATTER_ND) {
            return Some(self.scattered(body, op, def, extents));
        }
        let (_, kind) =
            [(&ARGMAX, Reduce::Max), (&ARGMIN, Reduce::Min)].into_iter().find(|(of, _)| is(of))?;
        Some(self.extreme(body, op, def, kind, &extents[0]))
    }

    /// The place of the greatest or least element along a dimension.
    fn extreme(
        &mut self,
        body: &Body,
        op: Op,
        def: &'static OpDef,
        kind: Reduce,
        own: &[Size],
    ) -> Result<(), String> {
        let refused = || refusal(def.name);
        let said = body.with_signature(op, |s| {
            let axis = normalize_axis(s.int("axis")?, own.len()).ok()?;
            Some((axis, s.flag("keepdims"), s.flag("select_last_index")))
        });
        let (axis, keeps, last) = said.flatten().ok_or_else(refused)?;
        let accumulate = body.ty(body.operands(op)[0]).elem().filter(|&elem| elem != DType::BOOL);
        let accumulate = accumulate.ok_or_else(refused)?;
        let mut extents = own.to_vec();
        let searched = std::mem::replace(&mut extents[axis], Size::ONE);
        if !keeps {
            extents.remove(axis);
        }
        // Places along the other dimensions of the operand, by those of the result.
        let of = |n: usize| if n < axis || keeps { n } else { n - 1 };
        let at = (0..own.len()).map(|n| place(if n == axis { extents.len() } else { of(n) })).collect();
        let result = body.result(op, 0);
        self.meet(body.ty(result), &extents, def);
        if searched.number().is_none() {
            self.searched
                .push((searched.clone(), format!("a dimension that {} searches is empty", def.name)));
        }
        self.meanings[result.index()] = Meaning::Reduce(Reduction {
            op,
            kind,
            over: vec![searched],
            factors: vec![Element::Read { operand: 0, at }],
            accumulate,
            method: SumMethod::Naive,
            then: None,
            place: Some(if last { OfEqual::Last } else { OfEqual::First }),
        });
        self.extents[result.index()] = extents;
        Ok(())
    }

    /// Where the elements along a dimension are found in their order. The elements themselves are picked by that (expand.rs).
    fn sorted(&mut self, body: &Body, op: Op, def: &'static OpDef, own: &[Size]) -> Result<(), String> {
        let refused = || refusal(def.name);
        let said = body.with_signature(op, |s| {
            Some((normalize_axis(s.int("axis")?, own.len()).ok()?, s.flag("descending")))
        });
        let (axis, descending) = said.flatten().ok_or_else(refused)?;
        let x = body.operands(op)[0];
        body.ty(x).elem().filter(|&elem| elem != DType::BOOL).ok_or_else(refused)?;
        let along = |n: usize| if n == axis { place(own.len()) } else { place(n) };
        let term = Element::Read { operand: 0, at: (0..own.len()).map(along).collect() };
        let indices = body.result(op, 1);
        self.meanings[indices.index()] = Meaning::Ranked(Ranking { op, axis, descending, term });
        for result in body.results(op) {
            self.meet(body.ty(result), own, def);
            self.extents[result.index()] = own.to_vec();
        }
        Ok(())
    }

    /// Elements put over those of the first operand.
    fn scattered(
        &mut self,
        body: &Body,
        op: Op,
        def: &'static OpDef,
        extents: &[Vec<Size>],
    ) -> Result<(), String> {
        let refused = || refusal(def.name);
        let [own, indices, updates] = extents else { return Err(refused()) };
        let operands: Vec<Value> = body.operands(op).to_vec();
        let every: Vec<Index> = (0..updates.len()).map(place).collect();
        // How many dimensions name a place together, and where they are named.
        let at: Vec<Coordinate> = if std::ptr::eq(def, &SCATTER_ELEMENTS) {
            let axis = body.with_signature(op, |s| normalize_axis(s.int("axis")?, own.len()).ok());
            let axis = axis.flatten().ok_or_else(refused)?;
            for (a, b) in indices.iter().zip(updates) {
                self.demand(a, b, || format!("the extents of the operands of {} differ", def.name));
            }
            let coordinate = |n: usize| match n == axis {
                true => Coordinate::Entry { operand: 1, at: every.clone() },
                false => Coordinate::Place(place(n)),
            };
            (0..own.len()).map(coordinate).collect()
        } else {
            let (vector, outer) = indices.split_last().ok_or_else(refused)?;
            let named = vector.number().ok_or_else(refused)? as usize;
            for (a, b) in outer.iter().chain(&own[named..]).zip(updates) {
                self.demand(a, b, || format!("the extents of the operands of {} differ", def.name));
            }
            let coordinate = |n: usize| match n < named {
                true => {
                    let within = every[..outer.len()].iter().cloned();
                    Coordinate::Entry { operand: 1, at: within.chain([Index::number(n as i64)]).collect() }
                }
                false => Coordinate::Place(place(outer.len() + n - named)),
            };
            (0..own.len()).map(coordinate).collect()
        };
        self.lie_inside(&at, updates, operands[0], def)?;
        let reduction = body.with_signature(op, |s| s.string("reduction").map(str::to_string)).flatten();
        let joins = match reduction.as_deref() {
            Some("none") => None,
            Some("add") => Some(&ADD),
            Some("mul") => Some(&MUL),
            Some("max") => Some(&MAX),
            Some("min") => Some(&MIN),
            _ => return Err(refused()),
        };
        let result = body.result(op, 0);
        self.meet(body.ty(result), own, def);
        self.meanings[result.index()] = Meaning::Scattered(Scatter { op, at, joins });
        self.extents[result.index()] = own.clone();
        Ok(())
    }
}
