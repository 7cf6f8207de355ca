//! Elements picked by integers in other values.

use ngc_dialects::ng::{arith, compare};
use ngc_ir::Value;
use ngc_ir::structure::{Coordinate, Index};
use ngc_numerics::DType;

use super::BAD_INDEX;
use super::emit::{Count, Emitted, Emitter};
use super::nest::{Nests, Scope, moved};

impl Nests<'_> {
    /// The element that is picked where the one at `at` is asked for.
    pub(super) fn picked(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        operands: &[Value],
        coordinates: &[Coordinate],
        at: &[Index],
    ) -> Emitted<Value> {
        let (mut places, mut width) = (Vec::with_capacity(coordinates.len()), 1);
        for (axis, coordinate) in coordinates.iter().enumerate() {
            places.push(match coordinate {
                Coordinate::Place(index) => {
                    let index = &moved(std::slice::from_ref(index), at, scope)?[0];
                    width = width.max(scope.width_at(std::slice::from_ref(index)));
                    e.index(index, &scope.at, &scope.space)?
                }
                Coordinate::Entry { operand, at: inner } => {
                    let inner = moved(inner, at, scope)?;
                    let entry = self.element(e, scope, operands[*operand], &inner)?;
                    let extent = e.size(&self.graph.extents[operands[0].index()][axis])?;
                    self.entry(e, scope, entry, extent)?
                }
            });
        }
        self.stored(e, scope, operands[0], places, width)
    }

    /// The place that an integer means along a dimension of this extent.
    pub(super) fn entry(
        &self,
        e: &mut Emitter<'_>,
        scope: &Scope,
        entry: Value,
        extent: Count,
    ) -> Emitted<Count> {
        let entry = e.convert(entry, DType::Index)?;
        let (zero, extent) = (e.value(Count::Known(0))?, e.value(extent)?);
        let from_end = e.compare("LT", entry, zero)?;
        let counted = e.apply(&arith::ADD, &[entry, extent])?;
        let place = e.apply(&compare::WHERE, &[from_end, counted, entry])?;
        let (above, below) = (e.compare("GE", place, zero)?, e.compare("LT", place, extent)?);
        let mut inside = e.apply(&compare::AND, &[above, below])?;
        if let Some(guard) = scope.guard {
            let idle = e.apply(&compare::NOT, &[guard])?;
            inside = e.apply(&compare::OR, &[idle, inside])?;
        }
        e.assert(inside, BAD_INDEX, "an index lies outside of its dimension")?;
        Ok(Count::Value(place))
    }
}
