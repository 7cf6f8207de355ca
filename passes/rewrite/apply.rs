//! Makes the right side of a rule.

use ngc_ir::{Attr, AttrDict, Type};
use ngc_numerics::{DType, Format};
use smallvec::SmallVec;

use super::compile::CompiledRule;
use super::conditions::{Bindings, Bound, Env, Val, attr};
use super::graph::{Term, Terms};
use super::rational;
use super::rule::{Expr, OpPattern, Pattern};

/// What a right side is made from.
pub struct Replacement<'m> {
    /// What the variables stand for.
    pub bindings: &'m Bindings,
    /// The widest format in which an op that the match covers accumulates: the replacement keeps it.
    pub accumulate: Option<Format>,
}

/// Why a rule whose pattern matches is not applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The two sides are not known to be equal, or not of one type.
    Unproven(String),
    /// They are, but a `when` clause says that nothing would be gained.
    Pointless(String),
}

/// The right side of a rule whose left side stands at `term`. `when` clauses count unless `always`.
///
/// # Errors
/// The condition that does not hold, or how the type would change.
pub fn replace(
    terms: &mut dyn Terms,
    rule: &CompiledRule,
    term: Term,
    with: &Replacement<'_>,
    always: bool,
) -> Result<Term, Refusal> {
    use Refusal::{Pointless, Unproven};
    let env = Env::new(&*terms, with.bindings);
    let failed = |list: &[Expr]| list.iter().find(|c| !env.holds(c)).cloned();
    if let Some(condition) = failed(&rule.rule.benefits).filter(|_| !always) {
        return Err(Pointless(format!("'{condition}' does not hold")));
    }
    if let Some(condition) = failed(&rule.rule.conditions) {
        return Err(Unproven(match env.eval(&condition) {
            Ok(_) => format!("'{condition}' is not proven"),
            Err(why) => format!("'{condition}' is not known: {why}"),
        }));
    }
    let old = terms.ty(term);
    let right = match &rule.rule.right {
        Pattern::Number(n, _) => constant(terms, *n, old).map_err(Unproven)?,
        Pattern::Rational(of, _) => rational::normal_form(terms, of, with.bindings, old)?,
        right => instantiate(terms, right, with).map_err(Unproven)?,
    };
    let new = terms.ty(right);
    if old != new {
        return Err(Unproven(format!("the type would change from {old} to {new}")));
    }
    if right == term {
        return Err(Pointless("it is in this form already".into()));
    }
    Ok(right)
}

/// The term that a right side stands for.
///
/// # Errors
/// A sentence that says which op does not fit its operands, or which value is not known.
pub fn instantiate(graph: &mut dyn Terms, pattern: &Pattern, with: &Replacement<'_>) -> Result<Term, String> {
    match pattern {
        Pattern::Op(op) => instantiate_op(graph, op, with),
        Pattern::Var(name, _) | Pattern::Const(name, _) => match with.bindings.get(*name) {
            Some(Bound::Term(t)) => Ok(*t),
            _ => Err(format!("?{name} is not a term")),
        },
        Pattern::Number(..) | Pattern::Rounded(..) | Pattern::Computed(..) => {
            Err("a constant alone has no format".into())
        }
        Pattern::Rational(..) => Err("rational(...) is a whole right side".into()),
    }
}

/// Whether the format holds a number to a rounding.
fn is_normal(format: Format, n: f64) -> bool {
    let rounded = format.round(n);
    rounded.is_finite() && rounded.abs() >= format.min_normal()
}

fn instantiate_op(
    graph: &mut dyn Terms,
    pattern: &OpPattern,
    with: &Replacement<'_>,
) -> Result<Term, String> {
    let def =
        graph.context().op(pattern.op.as_str()).ok_or_else(|| format!("unknown op '{}'", pattern.op))?;
    let mut operands: SmallVec<[Option<Term>; 2]> = SmallVec::new();
    for arg in &pattern.args {
        operands.push(match arg {
            Pattern::Number(..) | Pattern::Rounded(..) | Pattern::Computed(..) => None,
            _ => Some(instantiate(graph, arg, with)?),
        });
    }
    // Constants take the format of the operand beside them, alone that of the first variable that has one.
    let bound = || {
        with.bindings.iter().find_map(|(_, bound)| match bound {
            Bound::Term(t) => graph.ty(*t).format(),
            Bound::Attr(_) | Bound::Absent => None,
        })
    };
    let beside = operands.iter().flatten().find_map(|&t| graph.ty(t).format()).or_else(bound);
    let mut terms: SmallVec<[Term; 2]> = SmallVec::new();
    for (arg, operand) in pattern.args.iter().zip(&operands) {
        terms.push(match (operand, arg) {
            (Some(t), _) => *t,
            (None, Pattern::Number(n, _)) => number(graph, *n, beside)?,
            (None, Pattern::Rounded(n, ..)) => number(graph, beside.map_or(*n, |f| f.round(*n)), beside)?,
            (None, Pattern::Computed(e, _)) => match Env::new(graph, with.bindings).eval(e)? {
                // What the format cannot hold to a rounding is another number.
                Val::Number(n) if beside.is_some_and(|f| n != 0.0 && !is_normal(f, n)) => {
                    return Err(format!("{n} is not a normal number of its format"));
                }
                Val::Number(n) => number(graph, n, beside)?,
                other => return Err(format!("{other:?} is not a number")),
            },
            (None, _) => return Err("a constant alone has no format".into()),
        });
    }
    let mut attrs = AttrDict::EMPTY;
    for (name, e) in &pattern.attrs {
        let kind =
            def.attribute(name.as_str()).ok_or_else(|| format!("'{}' has no '{name}'", def.name))?.kind;
        let value = match e {
            Expr::Var(v, _) => match with.bindings.get(*v) {
                Some(Bound::Attr(a)) => Some(a.clone()),
                Some(Bound::Absent) => None,
                _ => return Err(format!("?{v} is not an attribute")),
            },
            _ => attr(&Env::new(graph, with.bindings).eval(e)?, kind)?,
        };
        if let Some(value) = value {
            attrs.set(*name, value);
        }
    }
    if def.attribute("accumulate").is_some()
        && attrs.get("accumulate").is_none()
        && let Some(format) = with.accumulate
    {
        attrs.set("accumulate", Attr::Type(Type::float(format)));
    }
    // A conversion to the format that there is already is none.
    if let ("convert", [operand]) = (def.short_name(), &terms[..])
        && attrs.get("to").and_then(Attr::as_type).is_some_and(|to| to.elem() == graph.ty(*operand).elem())
    {
        return Ok(*operand);
    }
    graph.make(def, &terms, attrs)
}

/// A constant of a type.
pub(super) fn constant(graph: &mut dyn Terms, n: f64, ty: Type) -> Result<Term, String> {
    let scalar = number(graph, n, ty.format())?;
    let Some(shape) = ty.shape() else { return Ok(scalar) };
    let extents: Option<Vec<usize>> = shape.iter().map(|d| d.known()).collect();
    let extents = extents.ok_or_else(|| format!("a constant of type {ty} has unknown extents"))?;
    let def = graph.context().op("ng.broadcast_to").ok_or("op 'ng.broadcast_to' is not registered")?;
    let shape = AttrDict::from([("shape", Attr::ints(extents.into_iter().map(|n| n as i64)))]);
    graph.make(def, &[scalar], shape)
}

/// A scalar constant. One that the format cannot hold is an f64 constant that is converted, so that evaluation at high
/// precision does not inherit its rounding.
pub(super) fn number(graph: &mut dyn Terms, n: f64, format: Option<Format>) -> Result<Term, String> {
    let format = format.ok_or("a constant needs a floating-point operand beside it")?;
    let def = |graph: &dyn Terms, name: &str| {
        graph.context().op(name).ok_or_else(|| format!("op '{name}' is not registered"))
    };
    let held = if format.contains(n) { format } else { Format::F64 };
    let value = AttrDict::from([("value", Attr::Float(n, Type::float(held)))]);
    let constant = graph.make(def(graph, "ng.constant")?, &[], value)?;
    if held == format {
        return Ok(constant);
    }
    let to = AttrDict::from([("to", Attr::Type(Type::scalar(DType::Float(format))))]);
    graph.make(def(graph, "ng.convert")?, &[constant], to)
}
