//! A function of joined values, piece by piece.
//!
//! What stands at one place may be known where at others it is not: beside the last of the probabilities up to a threshold
//! stands 1, and their difference is a complement there and nowhere else. A normal form draws functions out of pieces that
//! are alike, and a term that asks for its place is no value of its own; here it is read apart where values inside it are
//! joined, so that each piece is one.

use ngc_ir::structure::{Index, Size, Test};

use crate::normal::Cut;
use crate::store::{ANYWHERE, Store, within};
use crate::term::{Map, Node, Use, at};

/// Pieces, at most.
const MOST_PIECES: usize = 4;
/// Terms that are looked through for where values are joined.
const MOST_SEEN: usize = 64;

/// Where values are joined inside a term that asks for its place.
pub struct Joints {
    /// Along which of the dimensions that the term is read over.
    pub axis: usize,
    /// Where pieces begin, and the extent.
    pub bounds: Vec<i64>,
}

impl Joints {
    /// Of a term that is read over dimensions of these extents; nothing where it does not ask for its place, or in too many
    /// pieces, or along two dimensions.
    pub fn of(store: &Store, of: &Use, space: &[Size]) -> Option<Joints> {
        store.sizes(of.id).iter().any(|size| size.number() == Some(ANYWHERE)).then_some(())?;
        let mut found: Vec<(usize, i64)> = Vec::new();
        joints(store, of, space, space.len(), &mut { MOST_SEEN }, &mut found);
        let axis = found.first()?.0;
        found.iter().all(|(other, _)| *other == axis).then_some(())?;
        let mut bounds: Vec<i64> = found.into_iter().map(|(_, place)| place).collect();
        bounds.extend([0, i64::try_from(space[axis].number()?).ok()?]);
        bounds.sort_unstable();
        bounds.dedup();
        (bounds.len() <= MOST_PIECES + 1).then_some(Joints { axis, bounds })
    }

    /// A place in the middle of each piece, at the middles of all other dimensions.
    pub fn places(&self, middle: &[i64]) -> Vec<Vec<i64>> {
        let place = |bounds: &[i64]| {
            let mut place = middle.to_vec();
            place[self.axis] = i64::midpoint(bounds[0], bounds[1] - 1);
            place
        };
        self.bounds.windows(2).map(place).collect()
    }
}

/// Adds the places at which other pieces of values inside a term begin, by dimension of the outermost ones.
fn joints(
    store: &Store,
    of: &Use,
    space: &[Size],
    outer: usize,
    left: &mut usize,
    found: &mut Vec<(usize, i64)>,
) {
    if *left == 0 || store.asked_slots(of.id).next().is_none() {
        return;
    }
    *left -= 1;
    let node = store.node(of.id);
    if let Some((tests, ..)) = store.parted(of, space) {
        for cut in tests.iter().filter_map(|test| Cut::of(test, space)) {
            let axis = cut.digit.as_axis().map(|axis| axis.0 as usize).filter(|axis| *axis < outer);
            found.extend(axis.map(|axis| (axis, cut.yes.0.max(cut.no.0))));
        }
    }
    let inner = within(space, node.bound());
    let bound = (space.len()..inner.len()).map(at);
    let map: Map = of.map.iter().cloned().chain(bound).collect();
    for part in node.children() {
        if let Some(part) = store.compose(part, &map, &inner) {
            joints(store, &part, &inner, outer, left, found);
        }
    }
}

/// A term that asks for its place, read over dimensions of these extents, as joined pieces that do not; nothing where one of
/// them still does.
pub fn pieces(store: &mut Store, of: &Use, space: &[Size]) -> Option<Use> {
    let Joints { axis, bounds } = Joints::of(store, of, space)?;
    let placed = |place: Index| -> Map {
        (0..space.len()).map(|n| if n == axis { place.clone() } else { at(n) }).collect()
    };
    let mut all: Option<Use> = None;
    for bounds in bounds.windows(2).rev() {
        let (first, count) = (bounds[0], bounds[1] - bounds[0]);
        let mut own = space.to_vec();
        own[axis] = Size::from(usize::try_from(count).ok()?);
        // Of one place there is no dimension.
        let inside = if count == 1 { Index::number(first) } else { at(axis).plus(&Index::number(first))? };
        let part = store.compose(of, &placed(inside), &own)?;
        let piece = store.narrowed(part, &own);
        let asks = store.sizes(piece.id).iter().any(|size| size.number() == Some(ANYWHERE));
        let whole = placed(at(axis).plus(&Index::number(-first))?);
        let piece = store.compose(&piece, &whole, space).filter(|_| !asks)?;
        all = Some(match all {
            None => piece,
            Some(rest) => {
                let test = Test::AtLeastZero(at(axis).plus(&Index::number(-bounds[1]))?);
                store.close(Node::Where(vec![test], rest, piece), space)
            }
        });
    }
    all
}
