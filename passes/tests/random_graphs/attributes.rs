//! Attributes that do not depend on operands but the first.

use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_ir::op_def::{AttrDef, AttrKind, Default};
use ngc_ir::{Attr, OpDef, Type};
use ngc_numerics::{DType, Format, Random, Tensor};

/// A value for an attribute of an op on a first operand of type `ty`, or nothing where it is left out. Most are valid.
pub fn draw(r: &mut Random, op: &OpDef, def: &AttrDef, ty: Type, format: Format) -> Option<Attr> {
    let shape = ty.static_shape().unwrap_or_default();
    let rank = shape.len();
    let optional = def.default != Default::Required;
    if optional && r.chance(if matches!(def.name, "sum" | "axes") { 30 } else { 55 }) {
        return None;
    }
    // Negative axes count from the end.
    let axis = match rank {
        0 => 0,
        _ => r.below(2 * rank) as i64 - rank as i64,
    };
    let ints = |r: &mut Random, n: usize, least: i64, greatest: i64| {
        Attr::ints(
            (0..n).map(|_| least + r.below((greatest - least + 1) as usize) as i64).collect::<Vec<_>>(),
        )
    };
    // Spatial dimensions of windows: as many as the kernel has.
    let spatial = 1 + usize::from(rank > 1 && shape.first().is_some_and(|n| n % 2 == 0));
    let spatial = if op.short_name() == "conv" { rank.saturating_sub(2) } else { spatial };
    let real = |r: &mut Random, of: &[f64]| Attr::float(r.pick(of));
    Some(match (def.name, def.kind) {
        ("axes", _) if op.short_name() == "unsqueeze" => Attr::ints([r.below(rank + 1) as i64]),
        ("axes", _) if op.short_name() == "squeeze" => {
            Attr::ints((0..rank).filter(|&i| shape[i] == 1).map(|i| i as i64))
        }
        ("axes", _) => {
            let some: Vec<i64> = (0..rank as i64).filter(|_| r.chance(50)).collect();
            Attr::ints(if some.is_empty() { vec![axis] } else { some })
        }
        ("permutation", _) => {
            let mut order: Vec<i64> = (0..rank as i64).collect();
            for i in (1..rank).rev() {
                order.swap(i, r.below(i + 1));
            }
            Attr::ints(order)
        }
        ("accumulate", _) => {
            let wide = [Format::F32, Format::F64, Format::F16, Format::Bf16];
            Attr::Type(Type::float(if r.chance(80) { r.pick(&wide) } else { r.pick(&Format::ALL) }))
        }
        ("epsilon", _) => real(r, &[1e-5, 1e-3, 1.0, 0.1]),
        ("to" | "type", AttrKind::ElemType) => {
            let float = if r.chance(50) { format } else { r.pick(&Format::ALL) };
            let integer = r.pick(&[
                DType::Int(64),
                DType::Int(32),
                DType::Int(16),
                DType::Int(8),
                DType::Unsigned(8),
                DType::BOOL,
                DType::Index,
            ]);
            Attr::Type(Type::scalar(if r.chance(70) { DType::Float(float) } else { integer }))
        }
        ("type", _) => {
            let elem = if r.chance(70) { DType::Float(format) } else { DType::Int(32) };
            Attr::Type(Type::tensor([2.into(), 3.into()], elem))
        }
        ("kernel" | "output_size", _) => ints(r, spatial, 1, 3),
        ("strides" | "dilations", _) => ints(r, spatial, 1, 2),
        ("pads", _) => Attr::Array((0..spatial).map(|_| ints(r, 2, 0, 1)).collect()),
        ("low" | "high", _) => ints(r, rank, -1, 2),
        ("repeats", _) => ints(r, rank, 0, 2),
        ("shape", _) if op.short_name() == "reshape" => {
            let mut order = shape.iter().map(|&n| n as i64).collect::<Vec<_>>();
            order.reverse();
            if r.chance(50) { Attr::ints([-1]) } else { Attr::ints(order) }
        }
        ("shape", _) => {
            let extra = (0..r.below(2)).map(|_| 2);
            let own = shape.iter().map(|&n| if n == 1 { r.below(3) as i64 + 1 } else { -1 });
            Attr::ints(extra.chain(own).collect::<Vec<_>>())
        }
        // The rest of the attributes of a slice follow in the operands' file.
        ("limit", _) => real(r, &[2.0, 5.0, 7.5]),
        ("start", _) => real(r, &[0.0, -1.0, 0.5]),
        ("delta", _) => real(r, &[1.0, 0.25, 0.1]),
        ("ord" | "p", _) => real(r, &[1.0, 2.0, 2.0, f64::INFINITY, 3.0, 0.5]),
        ("depth", _) => Attr::int(r.below(4) as i64 + 1),
        ("k", _) => Attr::int(r.below(5) as i64 - 2),
        ("axis", _) if op.short_name() == "iota" => Attr::int(r.below(2) as i64),
        ("axis", _) => Attr::int(axis),
        ("correction", _) => Attr::int(r.below(2) as i64),
        ("on" | "off" | "value", AttrKind::Float) if ty.format().is_none() => real(r, &[0.0, 1.0, -1.0, 7.0]),
        ("on" | "off" | "value", AttrKind::Float) => real(r, &[0.0, 1.0, -1.0, 7.0, 0.1]),
        ("scale", _) => real(r, &[0.5, 1.0, 0.125, 0.1, 1.0 / 3.0]),
        ("alpha" | "beta", _) => real(r, &[0.5, 1.0, -0.25, 2.0, 0.1, -1.0 / 3.0, 1e-5]),
        ("bits", _) => Attr::int(r.below(8) as i64),
        ("exponents", _) => r.pick(&[[0, 1, 2], [1, 3, 5], [0, 2, 5]]).to_vec().into(),
        ("coefficients", _) => elements(r, ty, 3)?,
        ("period", _) => elements(r, ty, 2)?,
        ("inverse", _) => real(r, &[0.5, 1.0, 0.25]),
        ("ignore_index" | "copy_zeros" | "batch_dims" | "steps" | "groups", _) => return None,
        (_, AttrKind::Enum(names)) => Attr::from(r.pick(names)),
        (_, AttrKind::Bool) => Attr::Bool(r.chance(50)),
        (_, AttrKind::Float) if optional => real(r, &[0.5, 1.0, -0.25, 2.0, 0.1, 1.0 / 3.0]),
        _ => return None,
    })
}

/// Numbers of the format of a type.
fn elements(r: &mut Random, ty: Type, count: usize) -> Option<Attr> {
    let values = (0..count).map(|_| r.pick(&[1.0, 0.5, -0.25, 2.0, 0.1])).collect();
    Some(tensor_to_attr(&Tensor::floats(ty.format()?, vec![count], values).ok()?))
}
