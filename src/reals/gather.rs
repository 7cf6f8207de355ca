//! Gathers whose indices are places: what they pick is read there, as a slice reads it.

use ngc_ir::Signature;
use ngc_ir::structure::{Axis, Coordinate, Index, Size};

use crate::read::Reading;
use crate::store::Store;
use crate::term::{Map, Use};

/// What a gather picks, if the indices are places that lie in the data.
pub fn gathered(store: &mut Store, s: &Signature<'_>, x: &[Reading]) -> Option<Reading> {
    let data = x.first()?;
    let pick = s.def.pick?(s, &x.iter().map(|x| x.extents.clone()).collect::<Vec<_>>())?;
    let extents = pick.extents;
    let mut places = Vec::with_capacity(pick.at.len());
    for (coordinate, extent) in pick.at.into_iter().zip(&data.extents) {
        let place = match coordinate {
            Coordinate::Place(index) => index,
            Coordinate::Entry { operand, at } => {
                let by = |Axis(n): Axis| at[n as usize].clone();
                let entry = moved(store, &x.get(operand)?.element, &by, &extents)?;
                store.as_place(&entry, &extents)?
            }
        };
        let (low, high) = place.range(&extents[..])?;
        places.push(match high < 0 {
            // Counted from the end.
            true => place.plus(&Index::size(extent)).filter(|_| low >= -i128::from(extent.factor()))?,
            false => Some(place).filter(|place| low >= 0 && place.is_below(extent, &extents[..]))?,
        });
    }
    let by = |Axis(n): Axis| places[n as usize].clone();
    let element = moved(store, &data.element, &by, &extents)?;
    Some(Reading { extents, element })
}

fn moved(store: &mut Store, of: &Use, by: &impl Fn(Axis) -> Index, space: &[Size]) -> Option<Use> {
    let map = of.map.iter().map(|index| index.substituted(by, space)).collect::<Option<Map>>()?;
    Some(store.narrowed(Use { id: of.id, map }, space))
}
