//! Look-up in a constant table.

use ngc_ir::op_def::{AttrKind, ValueKind, operand, required, result};
use ngc_ir::{Attr, OpDef, Semantics, Signature};
use ngc_numerics::{DType, Data, Enclosure, Figures, Range, Sensitivity, Tensor};

use crate::ng::constant::{attr_to_tensor, attr_type};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&TABLE];

/// The most entries of a table: what an implementation may keep in a cache.
const MOST: usize = 4096;

/// `num.table`.
pub static TABLE: OpDef = OpDef {
    name: "num.table",
    summary: "an entry of a constant table",
    description: "The entry at place `i`, from 0. Implementations are refused unless `i` is proven to be a place of the table; \
        evaluation refuses other places.",
    example: "%0 = num.table %i {values = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<4xi32> -> tensor<4xf32>",
    operands: &[operand("i", ValueKind::Int)],
    attributes: &[required("values", AttrKind::Elements, "the entries, a tensor of rank 1")],
    results: &[result("result", ValueKind::Number)],
    infer: |s| {
        let ty = attr_type(values(s)?)?;
        match ty.static_shape().as_deref() {
            Some(&[n]) if (1..=MOST).contains(&n) => {}
            _ => return Err(format!("takes a table of rank 1 with 1 to {MOST} entries, not {ty}")),
        }
        Ok(vec![s.operand(0)?.with_elem(ty.elem().unwrap_or(DType::Index))])
    },
    semantics: Semantics::Primitive(|evaluator, s, x| {
        let table = evaluator.lift(&attr_to_tensor(values(s)?)?);
        let places = x[0].as_ints().ok_or("takes integer places")?;
        let index: Result<Vec<usize>, String> = places
            .iter()
            .map(|&i| {
                let place = usize::try_from(i).ok().filter(|&i| i < table.len());
                place.ok_or_else(|| format!("looks at place {i} of a table of {} entries", table.len()))
            })
            .collect();
        Ok(vec![table.select(x[0].shape.clone(), &index?)])
    }),
    transfer: Some(|s, x, _| {
        let table = attr_to_tensor(values(s).ok()?).ok()?;
        let places = x.first()?.hull();
        let entries = within(&table, places.lo, places.hi)?;
        let jump = Sensitivity { lipschitz: 0.0, jump: (entries.hi - entries.lo).next_up() };
        Some(vec![Figures::selection(Range::both(entries), [jump])])
    }),
    ..OpDef::BASE
};

fn values<'a>(s: &Signature<'a>) -> Result<&'a Attr, String> {
    s.attr("values").ok_or_else(|| "requires attribute 'values'".into())
}

/// The hull of the entries at the places between two, which are places of the table; nothing where they may not be.
fn within(table: &Tensor, first: f64, last: f64) -> Option<Enclosure<f64>> {
    let entries = match &table.data {
        Data::Float(v) => v.clone(),
        _ => table.to_f64s(),
    };
    if !(first >= 0.0 && last < entries.len() as f64) {
        return None;
    }
    let points = entries[first as usize..=last as usize].iter().map(|&v| Enclosure::point(v));
    points.reduce(Enclosure::hull)
}
