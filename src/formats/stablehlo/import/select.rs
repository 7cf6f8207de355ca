//! What is scattered to the elements that sliding windows select: gradients of pooling.

use ngc_ir::{AttrDict, Value};
use ngc_numerics::DType;

use super::fold::{MAX_STEPS, Windows, place};
use super::graph::Table;
use super::node::Node;
use super::pattern::terms;
use super::reduce::is_neutral;
use super::shape::spread;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[("stablehlo.select_and_scatter", select_and_scatter)];

/// Of each window the first element is selected that no later one is beyond, and the source is added there.
fn select_and_scatter(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, source) = (n.exact(0)?, n.exact(1)?);
    let region = |n: &Node<'_, '_>, which| Ok(terms(n.body, n.region(which)?).unwrap_or_default());
    let (select, scatter): (Vec<String>, Vec<String>) = (region(n, 0)?, region(n, 1)?);
    let direction = match &select[..] {
        [order] if order == "GE(a0,a1)" => "GE",
        [order] if order == "LE(a0,a1)" => "LE",
        _ => return unsupported("windows that select by another order than GE and LE"),
    };
    if !matches!(&scatter[..], [sum] if sum == "add(a0,a1)" || sum == "add(a1,a0)") || !is_neutral(n, 2, 0.0)
    {
        return unsupported("what is selected by windows, and is not added to 0");
    }
    let own = n.extents(x)?;
    let windows = windows(n, own.len())?;
    let taps: i64 = windows.sizes.iter().fold(1, |a, &b| a.saturating_mul(b));
    if taps > MAX_STEPS {
        return unsupported(format!("windows of {taps} elements; ngc unrolls {MAX_STEPS}"));
    }
    let places: Vec<Vec<i64>> = (0..taps).map(|k| place(&windows.sizes, k)).collect();
    let selected = selected(n, x, &windows, &places, direction)?;
    if n.extents(selected)? != n.extents(source)? {
        return invalid(format!("{} for windows of {}", n.ty(source), n.ty(x)));
    }
    let (dtype, mut sum) = (n.elem(source)?, None);
    for (k, place) in places.iter().enumerate() {
        let (which, zero) = (n.scalar(k as f64, DType::Int(32))?, n.scalar(0.0, dtype)?);
        let here = n.compare("EQ", selected, which)?;
        let part = n.emit("ng.where", &[here, source, zero], AttrDict::EMPTY)?;
        let part = spread(n, part, &windows.strides, 0.0)?;
        // As far as the windows reach, less the padding.
        let low = place.iter().zip(&windows.low).map(|(at, low)| at - low);
        let low: Vec<i64> = low.collect();
        let reach = n.extents(part)?;
        let high = (0..reach.len()).map(|axis| own[axis] - low[axis] - reach[axis]).collect();
        let part = n.pad(part, low, high, 0.0)?;
        sum = Some(match sum {
            None => part,
            Some(sum) => n.emit("ng.add", &[sum, part], AttrDict::EMPTY)?,
        });
    }
    sum.map_or_else(|| invalid("windows without elements"), |sum| Ok(vec![sum]))
}

fn windows(n: &Node<'_, '_>, rank: usize) -> Result<Windows> {
    let pads = n.numbers("padding", 0, 2 * rank)?;
    if pads.iter().any(|&p| p < 0) {
        return invalid(format!("padding {pads:?}"));
    }
    let (low, high) = pads.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
    let sizes = n.numbers("window_dimensions", 1, rank)?;
    Ok(Windows { sizes, strides: n.numbers("window_strides", 1, rank)?, dilations: vec![1; rank], low, high })
}

/// The number of the element that each window selects; padding is never selected.
fn selected(
    n: &mut Node<'_, '_>,
    x: Value,
    windows: &Windows,
    places: &[Vec<i64>],
    direction: &str,
) -> Result<Value> {
    let own = n.extents(x)?;
    let ones = n.splat(1.0, &own, DType::Int(8))?;
    let (x, inside) = (windows.padded(n, x, 0.0)?, windows.padded(n, ones, 0.0)?);
    let op = |n: &mut Node<'_, '_>, name: &str, of: &[Value]| n.emit(name, of, AttrDict::EMPTY);
    let mut best: Option<[Value; 3]> = None;
    for (k, place) in places.iter().enumerate() {
        let (value, there) = (windows.at(n, x, place)?, windows.at(n, inside, place)?);
        let there = n.convert(there, DType::BOOL)?;
        let number = n.splat(k as f64, &n.extents(value)?, DType::Int(32))?;
        best = Some(match best {
            None => [value, number, there],
            Some([most, at, found]) => {
                let stays = n.compare(direction, most, value)?;
                let stays = op(n, "ng.and", &[stays, found])?;
                let moves = op(n, "ng.not", &[stays])?;
                let moves = op(n, "ng.and", &[moves, there])?;
                let most = op(n, "ng.where", &[moves, value, most])?;
                let at = op(n, "ng.where", &[moves, number, at])?;
                [most, at, op(n, "ng.or", &[found, there])?]
            }
        });
    }
    best.map_or_else(|| invalid("windows without elements"), |[_, at, _]| Ok(at))
}
