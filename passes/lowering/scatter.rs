//! Elements put at places that integers of other values decide, one behind another.

use ngc_ir::Value;
use ngc_ir::structure::{Axis, Coordinate, Index, Size, place};
use rustc_hash::FxHashMap;

use super::emit::{Count, Emitted, Emitter};
use super::graph::Scatter;
use super::nest::{Nests, Scope};
use super::plan::Nest;

impl Nests<'_> {
    /// Puts all elements of the last operand over what is stored.
    pub(super) fn scatter(
        &self,
        e: &mut Emitter<'_>,
        s: &Scatter,
        nest: &Nest,
        extents: &[Size],
    ) -> Emitted<()> {
        let updates = self.graph.body.operands(s.op)[2];
        let space = self.graph.extents[updates.index()].clone();
        self.updates(e, &mut Scope::of(FxHashMap::default(), space), s, nest, extents, 0)
    }

    /// The loops over the elements, from the n-th on.
    fn updates(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        s: &Scatter,
        nest: &Nest,
        extents: &[Size],
        n: usize,
    ) -> Emitted<()> {
        let Some(extent) = scope.space.get(n).cloned() else {
            return self.update(e, scope, s, nest, extents);
        };
        let end = e.size(&extent)?;
        e.repeat([Count::Known(0), end, Count::Known(1)], &[], scope, |e, scope, at, _| {
            scope.at.insert(Axis(n as u32), at);
            scope.known.push(FxHashMap::default());
            self.updates(e, scope, s, nest, extents, n + 1)?;
            scope.known.pop();
            Ok(Vec::new())
        })?;
        Ok(())
    }

    fn update(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        s: &Scatter,
        nest: &Nest,
        extents: &[Size],
    ) -> Emitted<()> {
        let operands: Vec<Value> = self.graph.body.operands(s.op).to_vec();
        let mut places = Vec::with_capacity(extents.len());
        for (coordinate, extent) in s.at.iter().zip(extents) {
            places.push(match coordinate {
                Coordinate::Place(index) => e.index(index, &scope.at, &scope.space)?,
                Coordinate::Entry { operand, at } => {
                    let entry = self.element(e, scope, operands[*operand], at)?;
                    let extent = e.size(extent)?;
                    self.entry(e, scope, entry, extent)?
                }
            });
        }
        let every: Vec<Index> = (0..scope.space.len()).map(place).collect();
        let update = self.element(e, scope, operands[2], &every)?;
        let at = places.iter().enumerate().map(|(n, &at)| (Axis(n as u32), at)).collect();
        let there = Scope::of(at, extents.to_vec());
        let joined = match s.joins {
            Some(def) => {
                let old = self.stored(e, &there, nest.value, places, 1)?;
                e.apply(def, &[old, update])?
            }
            None => update,
        };
        self.put(e, &there, nest, extents, 0, joined)
    }
}
