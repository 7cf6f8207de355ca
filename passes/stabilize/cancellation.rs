//! Points at which a sum within the given form cancels.
//!
//! What a form is worth where one of its sums is nearly 0 no ladder of magnitudes tells: there a form that keeps the sum
//! together may be right to the last place while one that multiplies it out has lost all digits. All leaves but one are
//! ordinary numbers; of the one it is looked for where the sum changes its sign, and for its zero there by the Illinois
//! method (Dowell and Jarratt, 1971), which is then left by a few bits or by the last one.

use std::rc::Rc;

use ngc_interp::elements::{Column, Mode};
use ngc_ir::{Op, Value};
use ngc_numerics::{Format, Prim};

use super::exact::Leaves;
use super::ladder::{Ladder, Point};
use super::steps::made_of;
use super::window::{Window, primitive};

/// Steps towards a zero: twice as many as a simple one of `f64` takes.
const STEPS: usize = 16;
/// Zeros of each sum that are looked for as each leaf goes, and of all together.
const EACH: usize = 4;
const ALL: usize = 96;
/// Points near each: what is right at one of them is right by luck.
const NEAR: usize = 4;

/// Points at which a sum on the way to a value cancels, each sum's on a rung of its own.
pub fn points(leaves: &Rc<Leaves<'_>>, window: &Window, root: Value, format: Format) -> Vec<Point> {
    let body = &window.body;
    let inside = made_of(body, [root], |_| false);
    let is_sum = |op: &Op| matches!(primitive(body, *op), Some(Prim::Add | Prim::Sub));
    let sums = body.walk().into_iter().filter(is_sum).map(|op| body.result(op, 0));
    let sums: Vec<Value> = sums.filter(|sum| inside.contains(sum)).collect();
    let floats: Vec<usize> = leaves.floats().collect();
    let pairs = sums.len() * floats.len();
    if pairs == 0 || pairs > ALL {
        return Vec::new();
    }
    let each = (ALL / pairs).min(EACH);
    let mut all = Vec::new();
    for (rung, &sum) in sums.iter().enumerate() {
        let own = floats.iter().flat_map(|&leaf| (0..each).map(move |n| Point::cancelling(leaf, rung, n)));
        all.extend(zeros(leaves, window, sum, format, &own.collect::<Vec<_>>()).unwrap_or_default());
    }
    all
}

/// What a leaf is, and what a sum is there.
type At = (f64, f64);

/// The points of some at which a sum has a zero, left by a little.
fn zeros(
    leaves: &Rc<Leaves<'_>>,
    window: &Window,
    sum: Value,
    format: Format,
    points: &[Point],
) -> Option<Vec<Point>> {
    let values = |points: Vec<Point>| {
        let ladder = Rc::new(Ladder { points });
        let mut elements = leaves.elements(Mode::Formats, &ladder, None);
        let shape = elements.shape(&window.body, sum)?;
        let middle: Vec<i64> = shape.iter().map(|extent| (extent / 2) as i64).collect();
        match &*elements.at(&window.body, sum, &middle)? {
            Column::Floats(values) => Some(values.clone()),
            _ => None,
        }
    };
    let scales: Vec<Vec<f64>> = points.iter().map(|point| point.scale(format)).collect();
    let on = |point: &Point, scale: &[f64]| scale.iter().map(|x| point.at(*x)).collect::<Vec<_>>();
    let found = values(points.iter().zip(&scales).flat_map(|(point, scale)| on(point, scale)).collect())?;
    let mut found = found.into_iter();
    let mut open: Vec<(Point, [At; 2])> = Vec::new();
    for (n, (point, scale)) in points.iter().zip(&scales).enumerate() {
        let on: Vec<At> = scale.iter().copied().zip(found.by_ref()).collect();
        let changes = |pair: &&[At]| pair[0].1 * pair[1].1 < 0.0 && (pair[0].1 - pair[1].1).is_finite();
        let changes: Vec<&[At]> = on.windows(2).filter(changes).collect();
        // One after the other, where there are several.
        if let Some(pair) = changes.get(n % EACH % changes.len().max(1)) {
            open.push((*point, [pair[0], pair[1]]));
        }
    }
    let size = |[a, b]: [At; 2]| a.1.abs().max(b.1.abs());
    let before: Vec<f64> = open.iter().map(|(_, ends)| size(*ends)).collect();
    let mut best: Vec<At> = open.iter().map(|(_, [a, _])| *a).collect();
    for _ in 0..STEPS {
        let between = |[(a, of_a), (b, of_b)]: [At; 2]| format.round(a - of_a * (b - a) / (of_b - of_a));
        let next: Vec<f64> = open.iter().map(|(_, ends)| between(*ends)).collect();
        let found = values(open.iter().zip(&next).map(|((point, _), x)| point.at(*x)).collect())?;
        for (n, at) in next.into_iter().zip(found).enumerate() {
            let ends = &mut open[n].1;
            let [_, last] = *ends;
            // The last one stays where the sign changed, else the other one stays at half of its value.
            *ends = if at.1 * last.1 < 0.0 { [last, at] } else { [(ends[0].0, ends[0].1 / 2.0), at] };
            if at.1.abs() <= best[n].1.abs() {
                best[n] = at;
            }
        }
    }
    // Rounding leaves some of what vanishes.
    let little = (-f64::from(format.precision()) / 2.0).exp2();
    let vanishes = |n: &usize| best[*n].1.abs() <= little * before[*n];
    let near = |n: usize| (0..NEAR).map(move |k| (n, k));
    let found = (0..open.len()).filter(vanishes).flat_map(near);
    Some(found.map(|(n, k)| open[n].0.at(best[n].0).left(format, k)).collect())
}
