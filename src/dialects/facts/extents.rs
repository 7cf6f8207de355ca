//! Facts of extents that types leave open.

use std::rc::Rc;
use std::sync::Arc;

use ngc_ir::op_def::Semantics;
use ngc_ir::structure::Structure;
use ngc_ir::{Dim, Signature, Type};
use ngc_numerics::Extent;

use super::element::declared;
use crate::transfer;

/// The type of a value with the least and with the greatest extents that its `?` may have, where they are known.
#[derive(Clone, Debug)]
pub(super) struct Extents {
    pub least: Type,
    pub most: Type,
    pub by_dimension: Arc<[Extent]>,
}

impl Extents {
    pub fn new(ty: Type, least: Type, most: Type) -> Option<Extents> {
        let (shape, lows, highs) = (ty.shape()?, least.shape()?, most.shape()?);
        if lows.len() != shape.len() || highs.len() != shape.len() {
            return None;
        }
        let mut news = false;
        let mut by_dimension = Vec::with_capacity(shape.len());
        for ((dim, low), high) in shape.iter().zip(lows).zip(highs) {
            by_dimension.push(match (dim.known(), low.known(), high.known()) {
                (Some(n), ..) => Extent::exactly(n as f64),
                (None, Some(low), Some(high)) if low <= high => {
                    news = true;
                    Extent { least: low as f64, most: high as f64 }
                }
                _ => Extent::UNKNOWN,
            });
        }
        news.then(|| Extents { least, most, by_dimension: by_dimension.into() })
    }
}

/// A type with the open extents at one end of what is known of them.
pub(super) fn with_extents(ty: Type, extents: &[Extent], end: impl Fn(&Extent) -> f64) -> Option<Type> {
    let dims = ty.shape()?.iter().zip(extents).map(|(&dim, extent)| match end(extent) {
        n if extent.most.is_finite() && dim == Dim::Dynamic => Dim::Static(n as usize),
        _ => dim,
    });
    Some(Type::tensor(dims, ty.elem()?))
}

/// Whether no extent of a result shrinks where one of an operand grows: it is a product of theirs. Slices from the end and
/// windows do not promise it.
pub(super) fn grow(s: &Signature<'_>) -> bool {
    match s.def.semantics {
        Semantics::Elementwise(_) => true,
        Semantics::Decomposition(_) if s.def.structure.is_none() => transfer::steps(s).is_some_and(|steps| {
            let (body, block, _) = &*steps;
            body.ops(*block).all(|op| body.is_constant(op) || body.with_signature(op, grow) == Some(true))
        }),
        _ => {
            let known =
                |results: Rc<Vec<Structure>>| results.iter().all(|r| r.extents.iter().all(Option::is_some));
            s.def.structure.is_some() && declared(s).is_some_and(known)
        }
    }
}
