//! Shapes and attributes for the left side of a rule, chosen where they stand: the weights of a convolution for its data,
//! the keys of an attention for its queries, the axes of a reduction for its operand. What does not fit is found here,
//! before anything is built.

use ngc_ir::op_def::{AttrKind, Default as AttrDefault, ValueKind};
use ngc_ir::{Attr, AttrDict, Context, Dim, Ident, Signature, Type};
use ngc_numerics::DType;

use super::draw::{Draw, Extents};
use crate::rewrite::conditions::{self, Val};
use crate::rewrite::rule::{Expr, OpPattern, Pattern, Rule};

/// What is chosen for a left side, in the order in which it was.
#[derive(Default)]
pub struct Choice {
    /// Term variables with the type of their elements and their shapes.
    pub terms: Vec<(Ident, DType, Vec<usize>)>,
    /// Constants with their shapes.
    pub constants: Vec<(Ident, Vec<usize>)>,
    /// Attributes; some are left out.
    pub attrs: Vec<(Ident, Option<Attr>)>,
}

/// A shape that would fit.
struct Wanted {
    shape: Vec<usize>,
    /// Whether others hardly do.
    firm: bool,
}

/// Chooses for a left side; nothing if what was chosen does not fit.
pub fn choose(context: &Context, draw: &mut Draw<'_>, base: &[usize], rule: &Rule) -> Option<Choice> {
    let mut fit = Fit {
        context,
        draw,
        base,
        rule,
        choice: Choice::default(),
        bound: Vec::new(),
        seen: vec![base.to_vec()],
    };
    fit.term(&rule.left, None, ValueKind::Float)?;
    Some(fit.choice)
}

struct Fit<'f, 'r> {
    context: &'f Context,
    draw: &'f mut Draw<'r>,
    base: &'f [usize],
    rule: &'f Rule,
    choice: Choice,
    bound: Vec<(Ident, Type)>,
    /// Shapes of what there is so far, for reshapes to go back to.
    seen: Vec<Vec<usize>>,
}

impl Fit<'_, '_> {
    /// The type of a term, whose variables are chosen.
    fn term(&mut self, pattern: &Pattern, wanted: Option<Wanted>, kind: ValueKind) -> Option<Type> {
        match pattern {
            Pattern::Number(..) | Pattern::Rounded(..) => Some(Type::float(self.draw.aim.format)),
            Pattern::Var(name, _) => self.known(*name).or_else(|| {
                let dtype = match kind {
                    ValueKind::Int => DType::Int(64),
                    ValueKind::Bool => DType::BOOL,
                    _ => DType::Float(self.draw.aim.format),
                };
                let shape = match self.per_channel(*name) {
                    Some(shape) if self.draw.random.below(8) > 0 => shape,
                    _ => self.place(wanted),
                };
                self.choice.terms.push((*name, dtype, shape.clone()));
                Some(self.bind(*name, &shape, dtype))
            }),
            Pattern::Const(name, _) => self.known(*name).or_else(|| {
                // A constant may be written as a tensor, and then takes part in broadcasting.
                let shape = if self.draw.random.below(3) == 0 { self.place(wanted) } else { Vec::new() };
                self.choice.constants.push((*name, shape.clone()));
                Some(self.bind(*name, &shape, DType::Float(self.draw.aim.format)))
            }),
            Pattern::Op(op) => self.op(op, wanted),
            Pattern::Computed(..) | Pattern::Rational(..) => None,
        }
    }

    fn known(&self, name: Ident) -> Option<Type> {
        self.bound.iter().find(|(n, _)| *n == name).map(|(_, ty)| *ty)
    }

    fn bind(&mut self, name: Ident, shape: &[usize], dtype: DType) -> Type {
        let ty = match shape {
            [] => Type::scalar(dtype),
            _ => Type::tensor(shape.iter().map(|&n| Dim::Static(n)), dtype),
        };
        self.bound.push((name, ty));
        self.seen.push(shape.to_vec());
        ty
    }

    /// The shape that a condition `per_channel(?v, ?x)` asks for.
    fn per_channel(&mut self, name: Ident) -> Option<Vec<usize>> {
        let of = self.rule.conditions.iter().find_map(|c| match c {
            Expr::Call(f, args, _) if f.as_str() == "per_channel" => match &args[..] {
                [Expr::Var(v, _), Expr::Var(x, _)] if *v == name => Some(*x),
                _ => None,
            },
            _ => None,
        })?;
        let of = shape(self.known(of))?;
        let mut shape = vec![1; of.len().checked_sub(1)?];
        *shape.first_mut()? = *of.get(1)?;
        if self.draw.random.chance(40) {
            shape.insert(0, 1);
        }
        Some(shape)
    }

    fn place(&mut self, wanted: Option<Wanted>) -> Vec<usize> {
        match (wanted, self.draw.aim.extents) {
            (Some(w), Extents::Ones) => vec![1; w.shape.len()],
            (Some(w), Extents::Twos) => self.draw.shape(&vec![2; w.shape.len()]),
            (_, Extents::Scalar) | (None, _) => self.draw.shape(self.base),
            (Some(w), _) if w.firm && self.draw.random.below(8) > 0 => w.shape,
            (Some(w), _) => self.draw.shape(&w.shape),
        }
    }

    fn op(&mut self, op: &OpPattern, wanted: Option<Wanted>) -> Option<Type> {
        let def = self.context.op(op.op.as_str())?;
        let mut types: Vec<Option<Type>> = vec![None; op.args.len()];
        let is_op = |i: &usize| op.args[*i].root().is_some();
        // A variable is chosen for the terms beside it.
        let order: Vec<usize> =
            (0..types.len()).filter(is_op).chain((0..types.len()).filter(|i| !is_op(i))).collect();
        let mut attrs = None;
        for i in order {
            let wanted = self.wanted(def.short_name(), i, &types, attrs.as_ref(), wanted.as_ref());
            let kind = def.operands.get(i).or(def.operands.last()).map_or(ValueKind::Float, |o| o.kind);
            // A mask may be of truth values, and what is converted a number of places.
            let kind = match kind {
                _ if def.short_name() == "convert" && self.draw.random.chance(60) => ValueKind::Int,
                ValueKind::Any if def.short_name() == "attention" && self.draw.random.chance(50) => {
                    ValueKind::Bool
                }
                kind => kind,
            };
            types[i] = Some(self.term(&op.args[i], wanted, kind)?);
            if attrs.is_none() {
                attrs = Some(self.attributes(op, &shape(types[i])?)?);
            }
        }
        let attrs = match attrs {
            Some(attrs) => attrs,
            None => self.attributes(op, self.base)?,
        };
        let types = types.into_iter().collect::<Option<Vec<Type>>>()?;
        let s = Signature { def, operands: &types, attrs: &attrs };
        s.check().ok()?;
        let [ty] = s.infer().ok()?[..] else { return None };
        self.seen.push(shape(Some(ty))?);
        self.bound.extend(op.bind.map(|name| (name, ty)));
        Some(ty)
    }

    /// The attributes of an op whose first operand has this shape.
    fn attributes(&mut self, op: &OpPattern, of: &[usize]) -> Option<AttrDict> {
        let def = self.context.op(op.op.as_str())?;
        let mut attrs = AttrDict::EMPTY;
        for (name, e) in &op.attrs {
            let declared = def.attribute(name.as_str())?;
            let optional = matches!(declared.default, AttrDefault::Absent) && name.as_str() != "axes";
            let value = match e {
                Expr::Var(v, _) => self.attribute(*v, op, (declared.kind, name.as_str(), optional), of),
                e => conditions::attr(&self.literal(e, op, name.as_str(), of)?, declared.kind).ok()?,
            };
            if let Some(value) = value {
                attrs.set(*name, value);
            }
        }
        Some(attrs)
    }

    fn literal(&mut self, e: &Expr, op: &OpPattern, name: &str, of: &[usize]) -> Option<Val> {
        Some(match e {
            Expr::Number(n) => Val::Number(*n),
            Expr::Neg(e) => match self.literal(e, op, name, of)? {
                Val::Number(n) => Val::Number(-n),
                _ => return None,
            },
            Expr::Word(w) => match w.as_str() {
                "true" => Val::Bool(true),
                "false" => Val::Bool(false),
                _ => Val::Word(*w),
            },
            Expr::Var(v, _) => conditions::val(&self.attribute(*v, op, (AttrKind::Int, name, false), of)?)?,
            Expr::List(items) => {
                let items = items.iter().map(|i| self.literal(i, op, name, of));
                Val::List(items.collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    fn attribute(
        &mut self,
        variable: Ident,
        op: &OpPattern,
        (kind, name, optional): (AttrKind, &str, bool),
        of: &[usize],
    ) -> Option<Attr> {
        if let Some((_, known)) = self.choice.attrs.iter().find(|(n, _)| *n == variable) {
            return known.clone();
        }
        let absent = optional && self.draw.random.chance(40);
        let value = (!absent).then(|| {
            let short = op.op.as_str().trim_start_matches("ng.");
            self.fitting(short, (kind, name), of).unwrap_or_else(|| self.draw.attribute(kind, name, of))
        });
        self.choice.attrs.push((variable, value.clone()));
        value
    }

    /// An attribute that follows from the shape of the first operand.
    fn fitting(&mut self, op: &str, (kind, name): (AttrKind, &str), of: &[usize]) -> Option<Attr> {
        let spatial = of.len().saturating_sub(2);
        let r = &mut *self.draw.random;
        let ints = |v: Vec<usize>| Attr::ints(v.into_iter().map(|n| n as i64));
        // An item of a list.
        if let ("unsqueeze", AttrKind::Int, "axes") = (op, kind, name) {
            return Some(Attr::int(r.below(of.len() + 1) as i64));
        }
        if let (AttrKind::Int, "axes" | "shape") = (kind, name) {
            return None;
        }
        if let (AttrKind::Int, "strides" | "dilations" | "pads") = (kind, name) {
            return Some(Attr::int(r.below(2) as i64 + i64::from(name != "pads")));
        }
        Some(match (op, name) {
            (_, "strides" | "dilations") => ints((0..spatial).map(|_| r.pick(&[1, 1, 2])).collect()),
            (_, "pads") => {
                let mut pair = || Attr::ints([r.below(2) as i64, r.below(2) as i64]);
                Attr::Array((0..spatial).map(|_| pair()).collect())
            }
            (_, "groups" | "num_groups") => {
                let channels = of.get(1).copied().unwrap_or(1);
                let divisors: Vec<usize> =
                    (1..=channels.max(1)).filter(|n| channels.is_multiple_of(*n)).collect();
                Attr::int(divisors[r.below(divisors.len())] as i64)
            }
            ("unsqueeze", "axes") => ints(vec![r.below(of.len() + 1)]),
            ("squeeze", "axes") => ints(vec![of.iter().position(|&n| n == 1)?]),
            ("broadcast_to", "shape") => {
                let fixed = |n: &usize| if *n == 1 { r.pick(&[1, 2, 3]) } else { *n };
                ints(of.iter().map(fixed).collect())
            }
            ("reshape", "shape") => ints(self.reshaped(of)),
            ("iota", "type") => {
                let known = self.seen[r.below(self.seen.len())].clone();
                let dtype = r.pick(&[DType::Int(64), DType::Float(self.draw.aim.format)]);
                Attr::Type(Type::tensor(known.into_iter().map(Dim::Static), dtype))
            }
            _ => return None,
        })
    }

    /// Another shape of as many elements: one there was before, or with dimensions joined, split, or put in.
    fn reshaped(&mut self, of: &[usize]) -> Vec<usize> {
        let count = |shape: &[usize]| shape.iter().product::<usize>();
        let mut before = self.seen.iter().filter(|s| count(s) == count(of) && **s != of);
        let r = &mut *self.draw.random;
        let mut shape = of.to_vec();
        let joined = |mut shape: Vec<usize>, at: usize| {
            let n = shape.remove(at);
            shape[at] *= n;
            shape
        };
        match r.below(6) {
            // Groups of heads, each of which had its keys repeated; or all batches' heads in one.
            2 | 3 if of.len() == 5 => shape = joined(shape, 1),
            4 if of.len() == 5 => {
                shape = joined(joined(shape, 0), 0);
                shape.insert(0, 1);
            }
            0 | 1 => {
                if let Some(first) = before.next() {
                    return first.clone();
                }
            }
            2 => shape.insert(r.below(of.len() + 1), 1),
            3 if of.len() >= 2 => {
                shape = joined(shape, r.below(of.len() - 1));
            }
            // Channels in groups, each with all that follows in one row or as it is.
            4 | 5 if of.len() >= 2 && of[1] > 0 => {
                let groups: Vec<usize> = (1..=of[1]).filter(|n| of[1].is_multiple_of(*n)).collect();
                let groups = groups[r.below(groups.len())];
                shape = vec![of[0], groups, of[1] / groups];
                match r.chance(60) {
                    true => shape[2] *= count(&of[2..]),
                    false => shape.extend(&of[2..]),
                }
            }
            _ => {}
        }
        shape
    }

    /// A shape for an operand, by what is known of those beside it and of the result.
    fn wanted(
        &mut self,
        op: &str,
        i: usize,
        types: &[Option<Type>],
        attrs: Option<&AttrDict>,
        result: Option<&Wanted>,
    ) -> Option<Wanted> {
        let beside = |n: usize| shape(types.get(n).copied().flatten());
        let flag = |name: &str| attrs.and_then(|a| a.get(name)?.as_bool()).unwrap_or(false);
        let int = |name: &str| attrs.and_then(|a| a.get(name)?.as_int());
        let r = &mut *self.draw.random;
        let firm = |shape: Vec<usize>| Some(Wanted { shape, firm: true });
        match (op, i) {
            ("conv" | "batch_norm" | "group_norm", 0) => {
                let mut shape = vec![r.pick(&[1, 2]), r.pick(&[1, 2, 3, 4])];
                let least = usize::from(op == "conv");
                shape.extend((0..least + r.below(3 - least)).map(|_| r.pick(&[2, 3, 4])));
                firm(shape)
            }
            ("conv", 1) => {
                let x = beside(0)?;
                let groups = int("groups").map_or(1, |g| g.max(1) as usize);
                let mut shape = vec![groups * r.pick(&[1, 2]), x.get(1)?.div_ceil(groups)];
                shape.extend(x.get(2..)?.iter().map(|&n| 1 + r.below(n.min(3))));
                firm(shape)
            }
            ("conv", 2) => firm(vec![*beside(1)?.first()?]),
            ("batch_norm" | "group_norm", _) => firm(vec![*beside(0)?.get(1)?]),
            ("layer_norm" | "rms_norm", 1..) => {
                let x = beside(0)?;
                let axis = int("axis").map_or(x.len().saturating_sub(1), |a| a.unsigned_abs() as usize);
                let shape = x.get(axis..).unwrap_or_default().to_vec();
                firm(shape)
            }
            ("matmul" | "affine", 0 | 1) => {
                let mut shape = beside(1 - i)?;
                let n = shape.len();
                let (swap_other, swap) = match i {
                    0 => (flag("transpose_w"), flag("transpose_x")),
                    _ => (flag("transpose_x"), flag("transpose_w")),
                };
                if n < 2 {
                    return firm(if i == 0 {
                        vec![r.pick(&[2, 3]), *shape.first()?]
                    } else {
                        vec![*shape.first()?, 2]
                    });
                }
                // The contracted dimension is the last of the first operand and the one before the last of the second.
                let inner = shape[if (i == 1) ^ swap_other { n - 1 } else { n - 2 }];
                let outer = r.pick(&[1, 2, 3]);
                let pair = if (i == 0) ^ swap { [outer, inner] } else { [inner, outer] };
                shape[n - 2..].copy_from_slice(&pair);
                if n > 2 && r.chance(40) {
                    shape.drain(..n - 2);
                }
                firm(shape)
            }
            ("affine", 2) => {
                let w = beside(1)?;
                let n = w.len().checked_sub(if flag("transpose_w") { 2 } else { 1 })?;
                firm(vec![*w.get(n)?])
            }
            ("attention", 0) => match beside(1).or(beside(2)) {
                Some(mut k) => {
                    let n = k.len();
                    *k.get_mut(n.checked_sub(2)?)? = r.pick(&[1, 2, 3]);
                    if n == 4 {
                        k[1] *= r.pick(&[1, 1, 2]);
                    }
                    firm(k)
                }
                None => {
                    let rank = 2 + r.below(3);
                    firm((0..rank).map(|_| r.pick(&[1, 2, 2, 3])).collect())
                }
            },
            ("attention", 1 | 2) => {
                let (mut like, at) = match (i, beside(1), beside(2)) {
                    (2, Some(k), _) => (k, 1),
                    (1, _, Some(v)) => (v, 1),
                    _ => (beside(0)?, 2),
                };
                let n = like.len();
                if at == 2 && n == 4 && r.chance(50) {
                    like[1] = 1;
                }
                *like.get_mut(n.checked_sub(at)?)? = match (i, beside(0)) {
                    (1, Some(q)) if at == 1 => *q.last()?,
                    _ => r.pick(&[1, 2, 3]),
                };
                firm(like)
            }
            ("attention", 3) => {
                let (mut q, k) = (beside(0)?, beside(1)?);
                let matrix = q.len().checked_sub(2)?;
                q[matrix + 1] = *k.get(matrix)?;
                firm(if r.chance(50) { q.split_off(matrix) } else { q })
            }
            ("transpose", 0) => {
                let mut shape = result?.shape.clone();
                let n = shape.len();
                if n >= 2 {
                    shape.swap(n - 1, n - 2);
                }
                Some(Wanted { shape, firm: false })
            }
            _ if op.starts_with("reduce_") => None,
            (
                "variance" | "norm" | "logsumexp" | "reshape" | "broadcast_to" | "unsqueeze" | "squeeze"
                | "gather" | "gather_elements",
                _,
            ) => None,
            // What broadcasts is like what stands beside it, or like the result.
            _ => {
                let beside = types.iter().flatten().filter_map(|&ty| shape(Some(ty))).find(|s| !s.is_empty());
                let shape = beside.or_else(|| result.map(|w| w.shape.clone()))?;
                Some(Wanted { shape, firm: false })
            }
        }
    }
}

fn shape(ty: Option<Type>) -> Option<Vec<usize>> {
    ty?.shape().unwrap_or_default().iter().map(|d| d.known()).collect()
}
