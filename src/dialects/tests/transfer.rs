//! Bounds of ops on operands of which a dimension is known to be empty, though its type leaves it open.

use crate::common::{F32, tensor};
use ngc_dialects::transfer::transfer_known;
use ngc_ir::{AttrDict, Signature};
use ngc_numerics::{Enclosure, Extent, Operands, Range};

#[test]
fn bounds_of_no_elements_contradict_nothing() {
    let (empty, some) = (Extent::exactly(0.0), Extent { least: 0.0, most: 3.0 });
    let ranges = [(-1.0, 1.0), (-3e38, 3e38), (f64::INFINITY, f64::INFINITY), (2.0, 2.0)];
    let open = tensor(&[None, None], F32);
    let mut seen = 0;
    for op in ngc_dialects::context().ops() {
        for operands in [vec![open], vec![open; 2], vec![open; 3]] {
            let s = Signature { def: op, operands: &operands, attrs: &AttrDict::EMPTY };
            let Some(results) = s.check().ok().and_then(|()| s.infer().ok()) else { continue };
            for extents in [[empty, empty], [empty, some], [some, empty]] {
                let extents: Vec<&[Extent]> = vec![&extents; operands.len()];
                for (lo, hi) in ranges {
                    let ranges = vec![Range::both(Enclosure::new(lo, hi)); operands.len()];
                    let x = Operands { extents: &extents, ..Operands::of_ranges(&ranges) };
                    for figures in transfer_known(&s, &x, &[0, 1, 2][..operands.len()], &results) {
                        let Enclosure { lo, hi, .. } = figures.range.exact;
                        let ordered = lo <= hi || (lo.is_nan() && hi.is_nan());
                        assert!(ordered, "{} of {operands:?}: [{lo}, {hi}]", op.name);
                        seen += 1;
                    }
                }
            }
        }
    }
    assert!(seen > 1000, "{seen}");
}
