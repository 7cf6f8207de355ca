//! Sorts by the orders that JAX writes, and the greatest elements.

use ngc_ir::{Attr, AttrDict, Value};

use super::graph::Table;
use super::node::{Node, axes};
use super::pattern::terms;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("stablehlo.sort", sort),
    ("chlo.top_k", |n| {
        let x = n.exact(0)?;
        let attrs = [("k", Attr::int(n.int("k")?)), ("axis", Attr::int(-1))];
        let [values, indices] = n.emit_many("ng.topk", &[x], attrs)?[..] else {
            return invalid("it has two results");
        };
        let Some(to) = n.result(1)?.elem() else { return invalid("its result is no tensor") };
        Ok(vec![values, n.convert(indices, to)?])
    }),
];

/// How a comparator orders its first pair: `false` ascending, `true` descending.
fn order(n: &Node<'_, '_>) -> Option<bool> {
    let [term] = &terms(n.body, n.region(0).ok()?)?[..] else { return None };
    // JAX puts NaN last and takes the zeros as equal, as ngc does.
    let canonical = |a: &str| format!("select(NE({a},{a}),NaN,select(EQ({a},0),0,{a}))");
    let (x, y) = (canonical("a0"), canonical("a1"));
    [
        (false, "LT(a0,a1)".to_string()),
        (false, "GT(a1,a0)".to_string()),
        (false, format!("LT.TOTALORDER({x},{y})")),
        (true, format!("GT.TOTALORDER({x},{y})")),
        (true, "GT(a0,a1)".to_string()),
        (true, "LT(a1,a0)".to_string()),
    ]
    .into_iter()
    .find(|(_, known)| known == term)
    .map(|(descending, _)| descending)
}

fn sort(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let Some(descending) = order(n) else {
        return unsupported("a sort by another order than that of its first operand");
    };
    let x = n.exact(0)?;
    let rank = n.rank(x);
    let dimension = n.opt_int("dimension")?.unwrap_or(-1);
    let from_front = if dimension < 0 { dimension.saturating_add(rank as i64) } else { dimension };
    let axis = axes(&[from_front], rank)?[0] as i64;
    let mut attrs: AttrDict = [("axis", Attr::int(axis))].into();
    if descending {
        attrs.set("descending", true);
    }
    let [values, order] = n.emit_many("ng.sort", &[x], attrs)?[..] else {
        return invalid("it has two results");
    };
    let mut results = vec![values];
    for i in 1..n.operands.len() {
        let other = n.exact(i)?;
        results.push(n.emit("ng.gather_elements", &[other, order], [("axis", Attr::int(axis))])?);
    }
    Ok(results)
}
