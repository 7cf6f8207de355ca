//! Conditions, attribute values and computed constants: expressions over what a match has bound.

use std::cmp::Ordering;
use std::fmt;

use ngc_dialects::facts::Signs;
use ngc_dialects::ng::convert::is_exact;
use ngc_ir::op_def::AttrKind;
use ngc_ir::{Attr, Ident, Type};
use ngc_numerics::{DType, Enclosure, Format};
use rug::Float;
use smallvec::SmallVec;

use super::graph::{Term, Terms};
use super::rule::{Expr, Infix};

/// What a variable stands for.
#[derive(Clone, PartialEq, Debug)]
pub enum Bound {
    /// A term.
    Term(Term),
    /// An attribute.
    Attr(Attr),
    /// An attribute that is left out.
    Absent,
}

/// The variables of a match.
#[derive(Clone, Default, Debug)]
pub struct Bindings(SmallVec<[(Ident, Bound); 8]>);

impl Bindings {
    /// What the variable stands for.
    pub fn get(&self, name: Ident) -> Option<&Bound> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, b)| b)
    }

    /// Binds a variable; false if it stands for something else already.
    pub fn bind(&mut self, name: Ident, bound: Bound) -> bool {
        match self.get(name) {
            Some(known) => *known == bound,
            None => {
                self.0.push((name, bound));
                true
            }
        }
    }

    /// Variables in the order in which they were bound.
    pub fn iter(&self) -> impl Iterator<Item = &(Ident, Bound)> {
        self.0.iter()
    }
}

/// The value of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Val {
    /// A number.
    Number(f64),
    /// An end of a range that no value reaches: all are greater, or all less.
    Open(f64, Ordering),
    /// A truth value.
    Bool(bool),
    /// A format or text.
    Word(Ident),
    /// A list.
    List(Vec<Val>),
    /// An attribute without a value: left out where it is set.
    Absent,
}

impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Val::Number(n) | Val::Open(n, _) => write!(f, "{n}"),
            Val::Bool(b) => write!(f, "{b}"),
            Val::Word(w) => write!(f, "{w}"),
            Val::List(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Val::Absent => f.write_str("absent"),
        }
    }
}

impl Val {
    /// The value, whether an end of a range is reached or not.
    fn reached(&self) -> Val {
        match self {
            Val::Open(end, _) => Val::Number(*end),
            value => value.clone(),
        }
    }
}

/// A function of conditions.
pub struct Function {
    /// Name.
    pub name: &'static str,
    /// Number of arguments.
    pub arity: usize,
    /// What it gives.
    pub doc: &'static str,
    eval: fn(&Env<'_>, &[Val]) -> Result<Val, String>,
    /// Whether the first argument is a term, passed beside the values.
    terms: usize,
}

/// What expressions are evaluated in.
pub struct Env<'e> {
    /// Terms, types and ranges.
    pub graph: &'e dyn Terms,
    /// Variables.
    pub bindings: &'e Bindings,
    /// Terms given to the function under evaluation.
    terms: SmallVec<[Term; 2]>,
}

impl<'e> Env<'e> {
    /// An environment.
    pub fn new(graph: &'e dyn Terms, bindings: &'e Bindings) -> Self {
        Env { graph, bindings, terms: SmallVec::new() }
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// A sentence that says what is not known or does not fit.
    pub fn eval(&self, e: &Expr) -> Result<Val, String> {
        self.value(e).map(|value| value.reached())
    }

    fn value(&self, e: &Expr) -> Result<Val, String> {
        match e {
            Expr::Number(n) => Ok(Val::Number(*n)),
            Expr::Word(w) => Ok(match w.as_str() {
                "true" => Val::Bool(true),
                "false" => Val::Bool(false),
                _ => Val::Word(*w),
            }),
            Expr::Var(name, _) => match self.bindings.get(*name) {
                Some(Bound::Attr(attr)) => val(attr).ok_or_else(|| format!("?{name} has no value here")),
                Some(Bound::Absent) => Ok(Val::Absent),
                Some(Bound::Term(_)) => Err(format!("?{name} is a term, not a number")),
                None => Err(format!("?{name} is not bound")),
            },
            Expr::List(items) => items.iter().map(|i| self.eval(i)).collect::<Result<_, _>>().map(Val::List),
            Expr::Neg(e) => Ok(Val::Number(-number(&self.eval(e)?)?)),
            Expr::Not(e) => Ok(Val::Bool(!truth(&self.eval(e)?)?)),
            Expr::Binary(Infix::Or, a, b) => {
                let known = |e| self.eval(e).and_then(|v| truth(&v));
                Ok(Val::Bool(known(a).unwrap_or(false) || known(b)?))
            }
            Expr::Binary(op, a, b) => binary(*op, &self.value(a)?, &self.value(b)?),
            Expr::Call(name, args, _) => self.call(name.as_str(), args),
        }
    }

    /// Whether a condition is proven.
    pub fn holds(&self, condition: &Expr) -> bool {
        self.eval(condition) == Ok(Val::Bool(true))
    }

    fn call(&self, name: &str, args: &[Expr]) -> Result<Val, String> {
        let f =
            FUNCTIONS.iter().find(|f| f.name == name).ok_or_else(|| format!("unknown function '{name}'"))?;
        let mut terms = SmallVec::new();
        for arg in args.iter().take(f.terms) {
            let Expr::Var(v, _) = arg else { return Err(format!("'{name}' takes a variable, not {arg}")) };
            let Some(Bound::Term(t)) = self.bindings.get(*v) else {
                return Err(format!("?{v} is not a term"));
            };
            terms.push(*t);
        }
        let values = args.iter().skip(f.terms).map(|a| self.eval(a)).collect::<Result<Vec<_>, _>>()?;
        (f.eval)(&Env { graph: self.graph, bindings: self.bindings, terms }, &values)
    }

    /// An end of the range of the first term, and on which side of it the values lie if none reaches it.
    fn end(&self, end: f64, side: Ordering) -> Val {
        // The sign of a value tells whether it is 0 or an infinity; of no other number does it tell that.
        let is_place = end == 0.0 || end.is_infinite();
        match is_place && !self.graph.signs(self.terms[0]).may_be(Signs::of(&Enclosure::point(end))) {
            true => Val::Open(end, side),
            false => Val::Number(end),
        }
    }

    fn format(&self) -> Result<Format, String> {
        let ty = self.graph.ty(self.terms[0]);
        ty.format().ok_or_else(|| format!("{ty} is not a floating-point type"))
    }

    fn shape(&self, n: usize) -> &'static [ngc_ir::Dim] {
        self.graph.ty(self.terms[n]).shape().unwrap_or_default()
    }

    fn extent(&self, axis: &Val) -> Result<f64, String> {
        let dim = self.shape(0).get(number(axis)? as usize).ok_or("the axis is out of range")?;
        dim.known().map(|n| n as f64).ok_or_else(|| "an extent is not known".to_string())
    }
}

/// All functions of conditions.
pub const FUNCTIONS: &[Function] = &[
    term("lo", 1, "lower end of the exact range", |e, _| {
        let end = e.graph.range(e.terms[0]).exact.lo;
        Ok(e.end(end, Ordering::Greater))
    }),
    term("hi", 1, "upper end of the exact range", |e, _| {
        let end = e.graph.range(e.terms[0]).exact.hi;
        Ok(e.end(end, Ordering::Less))
    }),
    term("magnitude", 1, "greatest absolute value of the exact range", |e, _| {
        let r = e.graph.range(e.terms[0]).exact;
        Ok(Val::Number(r.lo.abs().max(r.hi.abs())))
    }),
    term("finite", 1, "the exact value is finite and defined", |e, _| {
        let r = e.graph.range(e.terms[0]).exact;
        Ok(Val::Bool(!r.may_be_nan && r.lo.is_finite() && r.hi.is_finite()))
    }),
    term("defined", 1, "the exact value exists, be it infinite", |e, _| {
        Ok(Val::Bool(!e.graph.signs(e.terms[0]).may_be(Signs::UNDEFINED)))
    }),
    term(
        "real",
        1,
        "finite wherever it is defined: in a bounded range, or computed from finite numbers alone",
        |e, _| Ok(Val::Bool(e.graph.is_real(e.terms[0]))),
    ),
    term("below_inf", 1, "nowhere +inf: by its range, or as it is computed", |e, _| {
        Ok(Val::Bool(!e.graph.signs(e.terms[0]).may_be(Signs::PLUS_INF)))
    }),
    term("overflows", 1, "the exact value may lie beyond the finite range of its format", |e, _| {
        Ok(Val::Bool(e.graph.range(e.terms[0]).may_overflow(e.format()?)))
    }),
    term("narrow", 1, "the elements are f16, bf16 or narrower", |e, _| {
        Ok(Val::Bool(e.format()?.precision() < 24))
    }),
    term("wide", 1, "f32 for narrower formats; absent for f32 and f64", |e, _| {
        Ok(if e.format()?.precision() < 24 { Val::Word(Ident::new("f32")) } else { Val::Absent })
    }),
    term("working", 1, "f32 for narrower formats, else the format itself", |e, _| {
        let format = e.format()?;
        Ok(Val::Word(Ident::new(if format.precision() < 24 { "f32" } else { format.name() })))
    }),
    term(
        "rank_one",
        1,
        "a constant kernel of two dimensions that is a column times a row for each channel",
        |e, _| Ok(Val::Bool(kernel(e).is_some())),
    ),
    term("format", 1, "the element format", |e, _| Ok(Val::Word(Ident::new(e.format()?.name())))),
    term("accumulates", 1, "format in which the op that computes the term accumulates", |e, _| {
        let stated = e.graph.accumulates(e.terms[0]);
        Ok(Val::Word(Ident::new(stated.map_or(e.format()?, |f| f).name())))
    }),
    term("ulp", 1, "unit in the last place of a constant in its format", |e, _| {
        let value = e.graph.uniform(e.terms[0]).ok_or("the constant has several values")?;
        Ok(Val::Number(e.format()?.ulp(value)))
    }),
    term("smallest", 1, "least positive normal number of the element format", |e, _| {
        Ok(Val::Number(e.format()?.min_normal()))
    }),
    term("value", 1, "value of a constant", |e, _| {
        e.graph.uniform(e.terms[0]).map(Val::Number).ok_or_else(|| "it is not a constant of one value".into())
    }),
    term("single_use", 1, "nothing but the match uses the term", |e, _| {
        Ok(Val::Bool(e.graph.used_once(e.terms[0])))
    }),
    term("constant", 1, "it is a constant of one value", |e, _| {
        Ok(Val::Bool(e.graph.uniform(e.terms[0]).is_some()))
    }),
    term("fixed", 1, "it depends on no argument", |e, _| Ok(Val::Bool(e.graph.is_fixed(e.terms[0])))),
    term("rank", 1, "number of dimensions", |e, _| Ok(Val::Number(e.shape(0).len() as f64))),
    term("shape", 1, "extents, -1 for ?", |e, _| {
        let extents = e.shape(0).iter().map(|d| Val::Number(d.known().map_or(-1.0, |n| n as f64)));
        Ok(Val::List(extents.collect()))
    }),
    Function {
        name: "size",
        arity: 2,
        doc: "extent of an axis",
        terms: 1,
        eval: |e, v| e.extent(&v[0]).map(Val::Number),
    },
    Function {
        name: "pivot",
        arity: 2,
        doc: "place along an axis of an element that is not 0 in any channel of a kernel of rank one",
        terms: 1,
        eval: |e, v| {
            let (row, column) = kernel(e).ok_or("the kernel is not known to have rank one")?;
            Ok(Val::Number(if number(&v[0])? == 2.0 { row } else { column } as f64))
        },
    },
    Function {
        name: "per_channel",
        arity: 2,
        doc: "the first term has an element for each channel of the second: its extent of axis 1, and 1 elsewhere",
        terms: 2,
        eval: |e, _| {
            let (a, b) = (e.shape(0), e.shape(1));
            let Some(channels) = b.get(1).and_then(|d| d.known()) else { return Ok(Val::Bool(false)) };
            let place = (a.len() + 1).checked_sub(b.len());
            let fits = |(i, d): (usize, &ngc_ir::Dim)| {
                d.known() == Some(if Some(i) == place { channels } else { 1 })
            };
            Ok(Val::Bool(
                a.len() <= b.len() && place.is_some_and(|p| p < a.len()) && a.iter().enumerate().all(fits),
            ))
        },
    },
    Function {
        name: "axes",
        arity: 2,
        doc: "the axes from the first up to the second, without it",
        terms: 0,
        eval: |_, v| {
            let (from, to) = (number(&v[0])? as i64, number(&v[1])? as i64);
            Ok(Val::List((from..to.min(from + 64)).map(|a| Val::Number(a as f64)).collect()))
        },
    },
    Function {
        name: "count",
        arity: 2,
        doc: "product of the extents of some axes",
        terms: 1,
        eval: |e, v| {
            let Val::List(axes) = &v[0] else { return Err("'count' takes a list of axes".into()) };
            axes.iter().map(|a| e.extent(a)).product::<Result<f64, _>>().map(Val::Number)
        },
    },
    Function {
        name: "last_axis",
        arity: 2,
        doc: "the axis is the last one",
        terms: 1,
        eval: |e, v| Ok(Val::Bool(number(&v[0])? as usize + 1 == e.shape(0).len())),
    },
    Function {
        name: "last_axes",
        arity: 2,
        doc: "the axes are the last ones, in order and without a gap",
        terms: 1,
        eval: |e, v| {
            let (Val::List(axes), rank) = (&v[0], e.shape(0).len()) else {
                return Err("it takes a list of axes".into());
            };
            let first = rank.checked_sub(axes.len()).ok_or("too many axes")?;
            Ok(Val::Bool(axes.iter().enumerate().all(|(i, a)| *a == Val::Number((first + i) as f64))))
        },
    },
    Function {
        name: "first",
        arity: 1,
        doc: "first of a list",
        terms: 0,
        eval: |_, v| match &v[0] {
            Val::List(items) => items.first().cloned().ok_or_else(|| "the list is empty".into()),
            _ => Err("it takes a list".into()),
        },
    },
    Function {
        name: "length",
        arity: 1,
        doc: "length of a list",
        terms: 0,
        eval: |_, v| match &v[0] {
            Val::List(items) => Ok(Val::Number(items.len() as f64)),
            _ => Err("it takes a list".into()),
        },
    },
    Function {
        name: "swaps_last",
        arity: 1,
        doc: "a permutation that exchanges the two last axes and keeps the rest",
        terms: 0,
        eval: |_, v| {
            let Val::List(p) = &v[0] else { return Err("it takes a permutation".into()) };
            let n = p.len();
            let image = |i: usize| if n >= 2 && i + 2 >= n { 2 * n - 3 - i } else { i };
            Ok(Val::Bool(n >= 2 && p.iter().enumerate().all(|(i, a)| *a == Val::Number(image(i) as f64))))
        },
    },
    Function {
        name: "same_shape",
        arity: 2,
        doc: "the two terms have one shape, without ? extents",
        terms: 2,
        eval: |e, _| {
            let (a, b) = (e.shape(0), e.shape(1));
            Ok(Val::Bool(a == b && a.iter().all(|d| d.known().is_some())))
        },
    },
    Function {
        name: "same",
        arity: 2,
        doc: "the two are one term",
        terms: 2,
        eval: |e, _| Ok(Val::Bool(e.terms[0] == e.terms[1])),
    },
    Function {
        name: "same_type",
        arity: 2,
        doc: "the two terms have one type",
        terms: 2,
        eval: |e, _| Ok(Val::Bool(e.graph.ty(e.terms[0]) == e.graph.ty(e.terms[1]))),
    },
    Function {
        name: "wider",
        arity: 2,
        doc: "the element format that holds the numbers of both terms, if it is one of theirs; else f32",
        terms: 2,
        eval: |e, _| {
            let other =
                e.graph.ty(e.terms[1]).format().ok_or("its elements are no floating-point numbers")?;
            let (a, b) = (e.format()?, other);
            let holds = |a, b| is_exact(DType::Float(b), DType::Float(a));
            let found = [(a, b), (b, a)].into_iter().find(|&(a, b)| holds(a, b));
            Ok(Val::Word(Ident::new(found.map_or("f32", |(wide, _)| wide.name()))))
        },
    },
    Function {
        name: "within",
        arity: 2,
        doc: "the first term broadcasts to exactly the shape of the second",
        terms: 2,
        eval: |e, _| {
            let both = ngc_dialects::ng::infer::broadcast_shapes(e.shape(0), e.shape(1));
            Ok(Val::Bool(both.is_ok_and(|s| s == e.shape(1))))
        },
    },
    Function {
        name: "constant_along",
        arity: 2,
        doc: "the term does not vary along the axis, counted from the end as in the second argument's list",
        terms: 1,
        eval: |e, v| {
            let distance = number(&v[0])? as usize;
            let shape = e.shape(0);
            Ok(Val::Bool(
                distance > shape.len() || distance == 0 || shape[shape.len() - distance].known() == Some(1),
            ))
        },
    },
    Function {
        name: "even",
        arity: 1,
        doc: "divisible by 2",
        terms: 0,
        eval: |_, v| Ok(Val::Bool(number(&v[0])?.rem_euclid(2.0) == 0.0)),
    },
    Function {
        name: "abs",
        arity: 1,
        doc: "absolute value",
        terms: 0,
        eval: |_, v| Ok(Val::Number(number(&v[0])?.abs())),
    },
    Function {
        name: "sqrt",
        arity: 1,
        doc: "square root",
        terms: 0,
        eval: |_, v| Ok(Val::Number(number(&v[0])?.sqrt())),
    },
];

/// Where no channel of a constant kernel [M, 1, rows, columns] is 0, if in each every element is exactly its column's
/// times its row's over the one there: `w[i, j] w[r, c] = w[i, c] w[r, j]`.
fn kernel(e: &Env<'_>) -> Option<(usize, usize)> {
    if e.shape(0).len() != 4 || e.shape(0)[1].known() != Some(1) {
        return None;
    }
    let tensor = e.graph.elements(e.terms[0])?;
    let [channels, 1, rows, columns] = tensor.shape[..] else { return None };
    let values = tensor.to_f64s();
    if rows * columns == 0 || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let at = |m: usize, i: usize, j: usize| values[(m * rows + i) * columns + j];
    // Products of f64 numbers are exact in 106 bits.
    let product = |a: f64, b: f64| Float::with_val(106, a) * b;
    let mut places = (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c)));
    let (r, c) = places.find(|&(r, c)| (0..channels).all(|m| at(m, r, c) != 0.0))?;
    let splits = |m: usize| {
        let mut all = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
        all.all(|(i, j)| product(at(m, i, j), at(m, r, c)) == product(at(m, i, c), at(m, r, j)))
    };
    (0..channels).all(splits).then_some((r, c))
}

const fn term(
    name: &'static str,
    arity: usize,
    doc: &'static str,
    eval: fn(&Env<'_>, &[Val]) -> Result<Val, String>,
) -> Function {
    Function { name, arity, doc, eval, terms: 1 }
}

fn number(v: &Val) -> Result<f64, String> {
    match v {
        Val::Number(n) | Val::Open(n, _) => Ok(*n),
        _ => Err("a number is needed".into()),
    }
}

fn truth(v: &Val) -> Result<bool, String> {
    match v {
        Val::Bool(b) => Ok(*b),
        _ => Err("a condition is needed".into()),
    }
}

fn binary(op: Infix, a: &Val, b: &Val) -> Result<Val, String> {
    if let Infix::Eq | Infix::Ne = op {
        return Ok(Val::Bool((a.reached() == b.reached()) == (op == Infix::Eq)));
    }
    let (x, y) = (number(a)?, number(b)?);
    let ordering = x.partial_cmp(&y);
    // An end that no value reaches lies beside its number, as if by an infinitesimal.
    let side = |v: &Val| if let Val::Open(_, side) = v { *side } else { Ordering::Equal };
    let beside = side(a).cmp(&side(b));
    let strictly = ordering.map(|ordering| ordering.then(beside));
    Ok(match op {
        Infix::Lt => Val::Bool(strictly == Some(Ordering::Less)),
        Infix::Gt => Val::Bool(strictly == Some(Ordering::Greater)),
        Infix::Le => Val::Bool(ordering.is_some_and(Ordering::is_le)),
        Infix::Ge => Val::Bool(ordering.is_some_and(Ordering::is_ge)),
        Infix::Add => Val::Number(x + y),
        Infix::Sub => Val::Number(x - y),
        Infix::Mul => Val::Number(x * y),
        _ => Val::Number(x / y),
    })
}

/// The value of an attribute, if expressions can speak of it.
pub fn val(attr: &Attr) -> Option<Val> {
    Some(match attr {
        Attr::Int(v, _) => Val::Number(*v as f64),
        Attr::Float(v, _) => Val::Number(*v),
        Attr::Bool(v) => Val::Bool(*v),
        Attr::Str(s) => Val::Word(Ident::new(s)),
        Attr::Type(t) => Val::Word(Ident::new(&t.to_string())),
        Attr::Array(items) => Val::List(items.iter().map(val).collect::<Option<_>>()?),
        _ => return None,
    })
}

/// The attribute of the declared kind; nothing where it is left out.
///
/// # Errors
/// When the value is not of the kind.
pub fn attr(value: &Val, kind: AttrKind) -> Result<Option<Attr>, String> {
    Ok(Some(match (kind, value) {
        (_, Val::Absent) => return Ok(None),
        (AttrKind::Int, Val::Number(n)) if n.fract() == 0.0 => Attr::int(*n as i64),
        (AttrKind::Float, Val::Number(n)) => Attr::float(*n),
        (AttrKind::Bool, Val::Bool(b)) => Attr::Bool(*b),
        (AttrKind::Ints, Val::List(items)) => {
            Attr::ints(items.iter().map(|i| number(i).map(|n| n as i64)).collect::<Result<Vec<_>, _>>()?)
        }
        (AttrKind::IntPairs, Val::List(items)) => {
            let pairs =
                items.iter().map(|i| attr(i, AttrKind::Ints)?.ok_or_else(|| "a pair is needed".into()));
            Attr::Array(pairs.collect::<Result<_, String>>()?)
        }
        (AttrKind::Str | AttrKind::Enum(_), Val::Word(w)) => w.as_str().into(),
        (AttrKind::Format | AttrKind::ElemType, Val::Word(w)) => match DType::from_name(w.as_str()) {
            Some(elem) => Attr::Type(Type::scalar(elem)),
            None => return Err(format!("'{w}' is not an element type")),
        },
        _ => return Err(format!("{value:?} is not {}", kind.describe())),
    }))
}

/// Whether an attribute is what the expression of a pattern says, binding its variables. A variable also stands for one
/// that is left out.
pub fn unify(e: &Expr, value: Option<&Attr>, bindings: &mut Bindings) -> bool {
    let number_is = |n: f64| value.and_then(Attr::as_float) == Some(n);
    match e {
        Expr::Var(name, _) => {
            bindings.bind(*name, value.map_or(Bound::Absent, |value| Bound::Attr(value.clone())))
        }
        Expr::Number(n) => number_is(*n),
        Expr::Neg(inner) => matches!(**inner, Expr::Number(n) if number_is(-n)),
        Expr::Word(w) => value.and_then(val).is_some_and(|v| match v {
            Val::Word(x) => x == *w,
            Val::Bool(b) => w.as_str() == if b { "true" } else { "false" },
            _ => false,
        }),
        Expr::List(items) => value.and_then(Attr::as_array).is_some_and(|have| {
            have.len() == items.len() && items.iter().zip(have).all(|(i, h)| unify(i, Some(h), bindings))
        }),
        _ => false,
    }
}
