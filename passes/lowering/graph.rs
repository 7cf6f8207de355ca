//! What the elements of the values of a function are made of, read from the declarations of its ops.

use std::collections::BTreeMap;

use ngc_dialects::structure::{pointwise, structures};
use ngc_ir::structure::{Axis, Element, Function, Index, Size, Unknown};
use ngc_ir::{Attr, Body, Diagnostic, Op, OpDef, Semantics, Type, Value};
use ngc_numerics::{DType, Format, Prim, Reduce, SumMethod};

use super::expand::Expanded;

/// An element of a value at a place along each of its dimensions.
pub(super) type Read = (Value, Vec<Index>);

/// What an element of a value is.
pub(super) enum Meaning {
    /// The caller's.
    Argument,
    /// An element of an attribute.
    Constant(Attr),
    /// The op of its operands' elements.
    Pointwise { op: Op, reads: Vec<Read> },
    /// An element of an operand, by the place alone.
    Moved { op: Op, element: Element },
    /// All terms along further dimensions as one.
    Reduce(Reduction),
}

/// A reduction: its terms are elements, or products of two, in the order of the places.
pub(super) struct Reduction {
    pub kind: Reduce,
    pub over: Vec<Size>,
    pub factors: Vec<Read>,
    /// What terms are converted to, and the running result is rounded to.
    pub accumulate: DType,
    pub method: SumMethod,
}

/// A function whose values are known element by element.
pub(super) struct Graph {
    pub body: Body,
    pub arguments: Vec<Value>,
    pub results: Vec<Value>,
    /// By value.
    pub extents: Vec<Vec<Size>>,
    pub meanings: Vec<Meaning>,
    /// The dimension of an argument that each unknown extent is.
    pub unknowns: Vec<(usize, usize)>,
    /// Extents that must be equal, with the reason.
    pub equal: Vec<(Size, Size, String)>,
}

impl Graph {
    /// Reads a function. `names` are those of the arguments' dimensions, where they have any.
    pub fn new(from: Expanded, names: &[Option<Vec<String>>]) -> Result<Graph, Diagnostic> {
        let Expanded { body, results } = from;
        let entry = body.entry().expect("it has a block");
        let arguments = body.arguments(entry).to_vec();
        let mut graph = Graph {
            arguments,
            results,
            extents: vec![Vec::new(); body.num_values()],
            meanings: (0..body.num_values()).map(|_| Meaning::Argument).collect(),
            unknowns: Vec::new(),
            equal: Vec::new(),
            body: Body::new(),
        };
        graph.name_extents(&body, names);
        for op in body.ops(entry) {
            graph.read(&body, op).map_err(|m| Diagnostic::error(body.op(op).loc.clone(), m))?;
        }
        graph.body = body;
        Ok(graph)
    }

    /// Each `?` of an argument is an unknown extent; those of one name are equal.
    fn name_extents(&mut self, body: &Body, names: &[Option<Vec<String>>]) {
        let mut by_name: BTreeMap<&str, Size> = BTreeMap::new();
        for (n, &argument) in self.arguments.clone().iter().enumerate() {
            let shape = body.ty(argument).shape().unwrap_or_default();
            for (axis, dim) in shape.iter().enumerate() {
                let size = dim.known().map_or_else(
                    || {
                        let own = Size::unknown(Unknown(self.unknowns.len() as u32));
                        self.unknowns.push((n, axis));
                        own
                    },
                    Size::from,
                );
                if let (Some(Some(names)), None) = (names.get(n), dim.known())
                    && let Some(name) = names.get(axis).filter(|name| !name.is_empty())
                {
                    let first = by_name.entry(name).or_insert_with(|| size.clone()).clone();
                    self.demand(&first, &size, || format!("the extents named '{name}' differ"));
                    self.extents[argument.index()].push(first);
                } else {
                    self.extents[argument.index()].push(size);
                }
            }
        }
    }

    fn demand(&mut self, a: &Size, b: &Size, why: impl FnOnce() -> String) {
        let known = a.number().is_some() && b.number().is_some();
        let is_new = |(x, y, _): &(Size, Size, String)| !((x, y) == (a, b) || (x, y) == (b, a));
        if a != b && !known && self.equal.iter().all(is_new) {
            self.equal.push((a.clone(), b.clone(), why()));
        }
    }

    fn read(&mut self, body: &Body, op: Op) -> Result<(), String> {
        let data = body.op(op);
        let def = data.def.ok_or_else(|| format!("'{}' is not registered", data.name))?;
        let refused = || format!("'{}' is not lowered to kernels yet", def.name);
        let results: Vec<Value> = body.results(op).collect();
        if let (true, &[result], Some(value)) = (def.traits.constant, &results[..], data.attrs.get("value")) {
            self.extents[result.index()] = known(body.ty(result)).ok_or_else(refused)?;
            self.meanings[result.index()] = Meaning::Constant(value.clone());
            return Ok(());
        }
        let operands = body.operands(op).to_vec();
        let extents: Vec<Vec<Size>> = operands.iter().map(|v| self.extents[v.index()].clone()).collect();
        let found = body.with_signature(op, |s| match def.semantics {
            // Its formula is that of the declaration, whatever is known of it.
            Semantics::Elementwise(_) => pointwise(&extents, Function::Not),
            Semantics::Primitive(_) => structures(s, &extents),
            _ => None,
        });
        let found = found.flatten().filter(|found| found.len() == results.len()).ok_or_else(refused)?;
        for (&result, structure) in results.iter().zip(found) {
            let sizes: Option<Vec<Size>> = structure.extents.into_iter().collect();
            let sizes = sizes.ok_or_else(|| {
                format!("'{}' is not lowered yet where the extents of its result are unknown", def.name)
            })?;
            self.meet(body.ty(result), &sizes, def);
            let meaning = self.meaning(body, op, def, &operands, &sizes, structure.element);
            self.meanings[result.index()] = meaning.ok_or_else(refused)?;
            self.extents[result.index()] = sizes;
        }
        Ok(())
    }

    /// What the type says of the extents holds too.
    fn meet(&mut self, ty: Type, sizes: &[Size], def: &OpDef) {
        for (dim, size) in ty.shape().unwrap_or_default().iter().zip(sizes) {
            if let Some(n) = dim.known() {
                self.demand(size, &Size::from(n), || {
                    format!("an extent of the result of {} is not {n}", def.name)
                });
            }
        }
    }

    fn meaning(
        &mut self,
        body: &Body,
        op: Op,
        def: &'static OpDef,
        operands: &[Value],
        sizes: &[Size],
        element: Element,
    ) -> Option<Meaning> {
        let elem = |v: Value| body.ty(v).elem();
        let result = elem(body.result(op, 0));
        if !self.check_places(&element, operands, sizes, def) {
            return None;
        }
        let as_read = |part: Element| match part {
            Element::Read { operand, at } => Some((*operands.get(operand)?, at)),
            _ => None,
        };
        Some(match element {
            Element::Apply(_, parts) => {
                let places: Option<Vec<(usize, Vec<Index>)>> = parts
                    .iter()
                    .map(|part| match part {
                        Element::Read { operand, at } => Some((*operand, at.clone())),
                        _ => None,
                    })
                    .collect();
                match places {
                    // The op of corresponding elements, and nothing else.
                    Some(places) if places.iter().map(|(n, _)| *n).eq(0..operands.len()) => {
                        let reads = places.into_iter().map(|(n, at)| (operands[n], at)).collect();
                        Meaning::Pointwise { op, reads }
                    }
                    // A conversion from or to a truth value: one operand and numbers.
                    _ if operands.len() == 1 && is_conversion(body, op) => {
                        let at = parts.into_iter().find_map(as_read)?;
                        Meaning::Pointwise { op, reads: vec![at] }
                    }
                    _ => return None,
                }
            }
            Element::Read { operand, at } if elem(*operands.get(operand)?) != result => {
                if !is_conversion(body, op) {
                    return None;
                }
                Meaning::Pointwise { op, reads: vec![(operands[operand], at)] }
            }
            Element::Reduce { kind, over, body: term } => {
                let factors = match *term {
                    read @ Element::Read { .. } => vec![as_read(read)?],
                    Element::Apply(Function::Real(f, _), parts) if f.as_primitive() == Some(Prim::Mul) => {
                        parts.into_iter().map(as_read).collect::<Option<Vec<_>>>()?
                    }
                    _ => return None,
                };
                if factors.iter().any(|(v, _)| elem(*v) != result) {
                    return None;
                }
                let sums = matches!(kind, Reduce::Sum | Reduce::Prod);
                let (accumulate, method) = body.with_signature(op, |s| {
                    let format = |f: Format| DType::Float(if sums { s.accumulate(f) } else { f });
                    (result.map(|elem| elem.format().map_or(elem, format)), s.sum_method())
                })?;
                // Extrema and products know no other method.
                let method =
                    if kind == Reduce::Sum && result?.is_float() { method } else { SumMethod::Naive };
                Meaning::Reduce(Reduction { kind, over, factors, accumulate: accumulate?, method })
            }
            element if only_chooses(&element) => Meaning::Moved { op, element },
            _ => return None,
        })
    }

    /// Along a dimension that is read from end to end, an operand is as long as the result: at run time where it is not known.
    /// What is only moved must be seen to lie in its operand: an op that takes parts of it (a split, a slice) demands more than
    /// its places say.
    fn check_places(&mut self, element: &Element, operands: &[Value], sizes: &[Size], def: &OpDef) -> bool {
        let mut space = sizes.to_vec();
        let moves = only_chooses(element);
        let (mut found, mut seen): (Vec<(Size, Size)>, bool) = (Vec::new(), true);
        let mut visit = |part: &Element| match part {
            Element::Reduce { over, .. } => space.extend(over.iter().cloned()),
            Element::Read { operand, at } => {
                let own = operands.get(*operand).map(|v| &self.extents[v.index()]);
                for (index, extent) in at.iter().zip(own.into_iter().flatten()) {
                    let along = index.as_axis().and_then(|Axis(n)| space.get(n as usize));
                    match along {
                        Some(wanted) if !moves => found.push((wanted.clone(), extent.clone())),
                        _ => {
                            seen &= !moves
                                || extent.number().is_some()
                                || along == Some(extent)
                                || index.as_affine().is_none();
                        }
                    }
                }
            }
            _ => {}
        };
        element.each(&mut visit);
        for (a, b) in found {
            self.demand(&a, &b, || format!("the extents of the operands of {} differ", def.name));
        }
        seen
    }
}

/// The extents of a type, if all are known.
pub(super) fn known(ty: Type) -> Option<Vec<Size>> {
    Some(ty.static_shape()?.into_iter().map(Size::from).collect())
}

fn is_conversion(body: &Body, op: Op) -> bool {
    body.is(op, &ngc_dialects::ng::convert::CONVERT)
}

/// Whether a value is an element of an operand, a number or a place, by the place alone.
fn only_chooses(element: &Element) -> bool {
    let mut chooses = true;
    element.each(&mut |part| chooses &= !matches!(part, Element::Apply(..) | Element::Reduce { .. }));
    chooses
}
