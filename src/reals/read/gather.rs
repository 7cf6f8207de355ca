//! Gathers whose indices are places: what they pick is read there, as a slice reads it.

use ngc_ir::Signature;
use ngc_ir::structure::{Axis, Index, Size};

use crate::read::Reading;
use crate::store::Store;
use crate::term::{Map, Use, at};

/// What a gather picks, if the indices are places that lie in the data.
pub fn gathered(store: &mut Store, s: &Signature<'_>, x: &[Reading]) -> Option<Reading> {
    let [data, indices] = x else { return None };
    let rank = data.extents.len();
    let axis = || usize::try_from(s.int("axis").unwrap_or(0).rem_euclid(rank.max(1) as i64)).ok();
    let own = indices.extents.len();
    let (extents, places): (Vec<Size>, Vec<Index>) = match s.def.name {
        "ng.gather" => {
            let axis = axis()?;
            let extents = [&data.extents[..axis], &indices.extents, &data.extents[axis + 1..]].concat();
            let picked = picked(store, &indices.element, &|Axis(n)| at(axis + n as usize), &extents)?;
            let places = (0..rank).map(|d| match d {
                d if d < axis => at(d),
                d if d == axis => picked.clone(),
                d => at(d + own - 1),
            });
            (extents, places.collect())
        }
        "ng.gather_elements" => {
            let axis = axis()?;
            let extents = indices.extents.clone();
            let picked = picked(store, &indices.element, &Index::axis, &extents)?;
            (extents, (0..rank).map(|d| if d == axis { picked.clone() } else { at(d) }).collect())
        }
        "ng.gather_nd" => {
            let batch = usize::try_from(s.int("batch_dims").unwrap_or(0)).ok()?;
            let (depth, outer) = indices.extents.split_last()?;
            let depth = usize::try_from(depth.number()?).ok()?;
            let extents = [outer, &data.extents[batch + depth..]].concat();
            let mut places: Vec<Index> = (0..batch).map(at).collect();
            for k in 0..depth {
                let entry = |Axis(n)| match n as usize {
                    n if n + 1 == own => Index::number(k as i64),
                    n => at(n),
                };
                places.push(picked(store, &indices.element, &entry, &extents)?);
            }
            places.extend((batch + depth..rank).map(|d| at(outer.len() + d - batch - depth)));
            (extents, places)
        }
        _ => return None,
    };
    let inside = |(place, extent): (Index, &Size)| {
        let (low, high) = place.range(&extents[..])?;
        match high < 0 {
            // Counted from the end.
            true => place.plus(&Index::size(extent)).filter(|_| low >= -i128::from(extent.factor())),
            false => (low >= 0 && place.is_below(extent, &extents[..])).then_some(place),
        }
    };
    let places: Vec<Index> = places.into_iter().zip(&data.extents).map(inside).collect::<Option<_>>()?;
    let by = |Axis(n): Axis| places[n as usize].clone();
    let element = moved(store, &data.element, &by, &extents)?;
    Some(Reading { extents, element })
}

/// The place that an index is.
fn picked(store: &mut Store, of: &Use, by: &impl Fn(Axis) -> Index, space: &[Size]) -> Option<Index> {
    let index = moved(store, of, by, space)?;
    store.as_place(&index, space)
}

fn moved(store: &mut Store, of: &Use, by: &impl Fn(Axis) -> Index, space: &[Size]) -> Option<Use> {
    let map = of.map.iter().map(|index| index.substituted(by, space)).collect::<Option<Map>>()?;
    Some(store.narrowed(Use { id: of.id, map }, space))
}
