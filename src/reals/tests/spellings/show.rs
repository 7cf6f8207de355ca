//! Terms as text, to be read beside each other.

use ngc_reals::{Node, Number, Store, Use};

/// A term, written out to a depth.
pub fn term(store: &Store, of: &Use) -> String {
    written(store, of, 12)
}

fn written(store: &Store, of: &Use, depth: usize) -> String {
    if depth == 0 {
        return "…".to_string();
    }
    let part = |x: &Use| written(store, x, depth - 1);
    let body = match store.node(of.id) {
        Node::Number(Number::Finite(x)) => return x.to_string(),
        Node::Number(other) => return format!("{other:?}"),
        Node::Size(size) => format!("{size:?}"),
        Node::Place => "place".to_string(),
        Node::Leaf(n) => format!("x{n}"),
        Node::Linear(c, terms) => {
            let terms: Vec<_> = terms.iter().map(|(c, x)| format!("{c}·{}", part(x))).collect();
            format!("({c} + {})", terms.join(" + "))
        }
        Node::Product(factors) => {
            let factors: Vec<_> = factors.iter().map(|(x, e)| format!("{}^{e}", part(x))).collect();
            format!("({})", factors.join(" · "))
        }
        Node::Max(parts) => format!("max({})", parts.iter().map(part).collect::<Vec<_>>().join(", ")),
        Node::Apply(f, parts) => {
            format!("{f:?}({})", parts.iter().map(part).collect::<Vec<_>>().join(", "))
        }
        Node::Reduce(kind, over, x) => {
            let over: Vec<_> = over.iter().map(|n| format!("{:?}", n.number().unwrap_or(0))).collect();
            format!("{kind:?}<{}>({})", over.join(","), part(x))
        }
        Node::Holds(tests) => format!("holds{}", shown(tests)),
        Node::Where(tests, yes, no) => format!("where{}({}, {})", shown(tests), part(yes), part(no)),
    };
    let map: Vec<String> = of.map.iter().map(ToString::to_string).collect();
    format!("{body}[{}]", map.join(", "))
}

fn shown(tests: &[ngc_ir::structure::Test]) -> String {
    use ngc_ir::structure::Test;
    let all = tests.iter().map(|test| match test {
        Test::AtLeastZero(index) => format!("{index} ≥ 0"),
        Test::Zero(index) => format!("{index} = 0"),
    });
    format!("{{{}}}", all.collect::<Vec<_>>().join(", "))
}
