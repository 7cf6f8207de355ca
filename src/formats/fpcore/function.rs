//! The body of a function from an expression.

use std::collections::HashMap;

use ngc_ir::diagnostics::excerpt;
use ngc_ir::{Attr, AttrDict, Block, Body, Builder, Context, Loc, Type, Value};
use ngc_numerics::{DType, Format};
use rug::Rational;

use super::operators::{COMPOSED, CONSTANTS, DIRECT, PREDICATES, RELATIONS};
use super::parse::{Kind, Node};
use super::{PRECISIONS, Result, invalid, number, unsupported};

/// An FPCore that later ones call by its name.
#[derive(Clone)]
pub struct Callee {
    /// The function's symbol.
    pub symbol: String,
    /// Formats of its arguments.
    pub arguments: Vec<Format>,
    /// The type of its result.
    pub result: Type,
}

/// A function in the making.
pub struct Function<'c, 't> {
    context: &'c Context,
    file: u16,
    callees: &'c HashMap<&'t str, Callee>,
    /// Its ops.
    pub body: Body,
    /// Where they go.
    pub block: Block,
    scope: Vec<(&'t str, Value)>,
}

/// What ngc does not have, and what it is.
const REFUSED: &[(&str, &str)] = &[
    ("while", "a loop"),
    ("while*", "a loop"),
    ("for", "a loop"),
    ("for*", "a loop"),
    ("tensor", "a tensor"),
    ("tensor*", "a tensor"),
    ("array", "an array"),
    ("ref", "an element of an array"),
    ("dim", "an extent of an array"),
    ("size", "an extent of an array"),
];

impl<'c, 't> Function<'c, 't> {
    /// A function without arguments and ops.
    pub fn new(context: &'c Context, file: u16, callees: &'c HashMap<&'t str, Callee>) -> Function<'c, 't> {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        Function { context, file, callees, body, block, scope: Vec::new() }
    }

    /// The place of a piece of the text.
    pub fn loc(&self, node: &Node<'_>) -> Loc {
        Loc::Source { file: self.file, offset: u32::try_from(node.offset).unwrap_or(u32::MAX) }
    }

    /// Adds an argument.
    pub fn argument(&mut self, name: &'t str, format: Format, loc: Loc) {
        let value = self.body.add_argument(self.block, Type::float(format), loc);
        self.scope.push((name, value));
    }

    /// The format of a number; none for a truth value.
    pub fn format(&self, value: Value) -> Option<Format> {
        self.body.ty(value).format()
    }

    /// Whether a value is a literal.
    pub fn is_constant(&self, value: Value) -> bool {
        self.body.defining_op(value).is_some_and(|op| self.body.name(op) == "ng.constant")
    }

    /// Emits an op with one result.
    pub fn emit(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: impl Into<AttrDict>,
        loc: &Loc,
    ) -> Result<Value> {
        Builder::at_end(self.context, &mut self.body, self.block, loc.clone())
            .emit(name, operands, attrs)
            .or_else(|message| invalid(loc.clone(), message))
    }

    /// Emits an op without attributes.
    pub fn op(&mut self, name: &str, operands: &[Value], loc: &Loc) -> Result<Value> {
        self.emit(name, operands, AttrDict::EMPTY, loc)
    }

    /// Ends the function.
    pub fn finish(&mut self, result: Value) -> Result<()> {
        let mut builder = Builder::at_end(self.context, &mut self.body, self.block, Loc::Unknown);
        builder.op("func.return", &[result], AttrDict::EMPTY).map(drop).or_else(|e| invalid(Loc::Unknown, e))
    }

    /// The value of an expression whose operators round to `precision`.
    pub fn expression(&mut self, node: &Node<'t>, precision: Format) -> Result<Value> {
        let loc = self.loc(node);
        let parts = match &node.kind {
            Kind::Number(value) => return self.literal(value, precision, &loc),
            Kind::Symbol(name) => return self.name(name, precision, &loc),
            Kind::Text(_) => return invalid(loc, "a string stands where a value is needed"),
            Kind::List(parts) => parts,
        };
        let Some((head, rest)) = parts.split_first() else {
            return invalid(loc, "nothing stands between these brackets");
        };
        let Some(head) = head.symbol() else {
            return invalid(self.loc(head), "an operator is needed here");
        };
        match head {
            "let" | "let*" => self.bindings(head, rest, precision, &loc),
            "if" => self.choice(rest, precision, &loc),
            "!" => self.annotated(rest, precision, &loc),
            "digits" => self.digits(rest, precision, &loc),
            "cast" => {
                let [x] = self.numbers(head, 1, rest, precision, &loc)?[..] else { return lost(&loc) };
                self.converted(x, precision, &loc)
            }
            "and" | "or" | "not" => self.logic(head, rest, precision, &loc),
            _ => self.operator(head, rest, precision, &loc),
        }
    }

    fn operator(&mut self, head: &str, rest: &[Node<'t>], precision: Format, loc: &Loc) -> Result<Value> {
        if let Some((_, direction)) = RELATIONS.iter().find(|(name, _)| *name == head) {
            return self.relation(head, direction, rest, precision, loc);
        }
        if let Some((_, emit)) = PREDICATES.iter().find(|(name, _)| *name == head) {
            let x = self.numbers(head, 1, rest, precision, loc)?;
            return emit(self, &x, loc);
        }
        let arity =
            |arities: &[usize]| arities.iter().find(|&&n| n == rest.len()).or(arities.first()).copied();
        let direct: Vec<usize> = DIRECT.iter().filter(|d| d.0 == head).map(|d| d.1).collect();
        if let Some(arity) = arity(&direct) {
            let x = self.numbers(head, arity, rest, precision, loc)?;
            let x = self.alike(&x, Some(precision), loc)?;
            let name = DIRECT.iter().find(|d| d.0 == head && d.1 == arity).map_or("", |d| d.2);
            let value = self.op(name, &x, loc)?;
            return self.converted(value, precision, loc);
        }
        if let Some((_, arity, emit)) = COMPOSED.iter().find(|c| c.0 == head) {
            let x = self.numbers(head, *arity, rest, precision, loc)?;
            let x = self.alike(&x, Some(precision), loc)?;
            let value = emit(self, &x, loc)?;
            return self.converted(value, precision, loc);
        }
        if let Some(callee) = self.callees.get(head) {
            return self.call(head, callee.clone(), rest, precision, loc);
        }
        match REFUSED.iter().find(|(name, _)| *name == head) {
            Some((_, what)) => {
                unsupported(loc.clone(), format!("'{head}': ngc does not read {what} in FPCore"))
            }
            None => unsupported(loc.clone(), format!("ngc has no operator '{}'", excerpt(head))),
        }
    }

    /// A literal: rounded once to the precision and, where the decimal is a ratio of numbers of a format, itself over the
    /// reals.
    fn literal(&mut self, value: &Rational, precision: Format, loc: &Loc) -> Result<Value> {
        let rounded = number::round(value, precision);
        if number::is(value, rounded) || !rounded.is_finite() {
            return self.float(rounded, precision, loc);
        }
        for wide in [precision, Format::F64] {
            let Some((a, b)) = number::as_ratio(value, wide) else { continue };
            if precision.round(wide.round(a / b)) == rounded {
                let (a, b) = (self.float(a, wide, loc)?, self.float(b, wide, loc)?);
                let quotient = self.op("ng.div", &[a, b], loc)?;
                return self.converted(quotient, precision, loc);
            }
        }
        let nearest = number::round(value, Format::F64);
        if precision.round(nearest) == rounded {
            let wide = self.float(nearest, Format::F64, loc)?;
            return self.converted(wide, precision, loc);
        }
        self.float(rounded, precision, loc)
    }

    fn name(&mut self, name: &str, precision: Format, loc: &Loc) -> Result<Value> {
        if let Some((_, value)) = self.scope.iter().rev().find(|(known, _)| *known == name) {
            return Ok(*value);
        }
        if let "TRUE" | "FALSE" = name {
            return self.emit("ng.constant", &[], [("value", Attr::Bool(name == "TRUE"))], loc);
        }
        match CONSTANTS.iter().find(|(known, _)| *known == name) {
            Some((_, parts)) => self.named(parts, precision, loc),
            None => {
                invalid(loc.clone(), format!("'{}' is neither an argument nor bound by a let", excerpt(name)))
            }
        }
    }

    fn bindings(&mut self, head: &str, rest: &[Node<'t>], precision: Format, loc: &Loc) -> Result<Value> {
        let [bindings, body] = rest else {
            return invalid(loc.clone(), format!("({head} ((name value) ...) body) is the form"));
        };
        let Some(list) = bindings.list() else {
            return invalid(self.loc(bindings), "a list of bindings is needed here: ((name value) ...)");
        };
        let outer = self.scope.len();
        let mut bound = Vec::new();
        for binding in list {
            let Some([name, value]) = binding.list() else {
                return invalid(self.loc(binding), "a binding is (name value)");
            };
            let Some(name) = name.symbol() else {
                return invalid(self.loc(name), "a name is needed here");
            };
            let value = self.expression(value, precision)?;
            if head == "let*" {
                self.scope.push((name, value));
            } else {
                bound.push((name, value));
            }
        }
        self.scope.append(&mut bound);
        let value = self.expression(body, precision)?;
        self.scope.truncate(outer);
        Ok(value)
    }

    fn choice(&mut self, rest: &[Node<'t>], precision: Format, loc: &Loc) -> Result<Value> {
        let [condition, yes, no] = rest else {
            return invalid(loc.clone(), "(if condition value otherwise) is the form");
        };
        let place = self.loc(condition);
        let condition = self.expression(condition, precision)?;
        if self.format(condition).is_some() {
            return invalid(place, "the condition is a number, not a truth value");
        }
        let branches = [self.expression(yes, precision)?, self.expression(no, precision)?];
        let [yes, no] = match branches.map(|v| self.format(v)) {
            [None, None] => branches,
            [Some(a), Some(b)] => {
                let common = join(a, b);
                [self.converted(branches[0], common, loc)?, self.converted(branches[1], common, loc)?]
            }
            _ => return invalid(loc.clone(), "one branch is a number, the other a truth value"),
        };
        self.op("ng.where", &[condition, yes, no], loc)
    }

    /// `(! :property value ... expression)`.
    fn annotated(&mut self, rest: &[Node<'t>], precision: Format, loc: &Loc) -> Result<Value> {
        let Some((body, properties)) = rest.split_last() else {
            return invalid(loc.clone(), "(! :property value ... expression) is the form");
        };
        let precision = self.precision(properties, precision, loc)?;
        self.expression(body, precision)
    }

    /// The precision that properties state, else the one around them.
    pub fn precision(&self, properties: &[Node<'t>], outer: Format, loc: &Loc) -> Result<Format> {
        if !properties.len().is_multiple_of(2) {
            return invalid(loc.clone(), "each property has one value");
        }
        let mut precision = outer;
        for pair in properties.chunks_exact(2) {
            let at = self.loc(&pair[1]);
            match pair[0].symbol() {
                Some(":precision") => precision = self.named_precision(&pair[1])?,
                Some(":round") if pair[1].symbol() != Some("nearestEven") => {
                    return unsupported(at, "ngc rounds to nearest, ties to even (:round nearestEven), only");
                }
                Some(name) if name.starts_with(':') => {}
                _ => return invalid(self.loc(&pair[0]), "a property such as :precision is needed here"),
            }
        }
        Ok(precision)
    }

    fn named_precision(&self, node: &Node<'t>) -> Result<Format> {
        let known: Vec<&str> = PRECISIONS.iter().map(|p| p.0).collect();
        let refuse = |what: &str| {
            let message = format!("precision '{}'; ngc has {}", excerpt(what), known.join(", "));
            unsupported(self.loc(node), message)
        };
        let small = |node: &Node<'_>| match &node.kind {
            Kind::Number(n) if n.is_integer() => n.numer().to_u32(),
            _ => None,
        };
        match (&node.kind, node.list()) {
            (Kind::Symbol(name), _) => match PRECISIONS.iter().find(|p| p.0 == *name) {
                Some((_, format)) => Ok(*format),
                None => refuse(name),
            },
            (_, Some([head, exponent, bits])) if head.symbol() == Some("float") => {
                match (small(exponent), small(bits)) {
                    (Some(11), Some(64)) => Ok(Format::F64),
                    (Some(8), Some(32)) => Ok(Format::F32),
                    (Some(5), Some(16)) => Ok(Format::F16),
                    (Some(8), Some(16)) => Ok(Format::Bf16),
                    _ => refuse("(float ...)"),
                }
            }
            _ => refuse("(...)"),
        }
    }

    /// `(digits m e b)` is m * b^e.
    fn digits(&mut self, rest: &[Node<'t>], precision: Format, loc: &Loc) -> Result<Value> {
        let whole = |node: &Node<'_>| match &node.kind {
            Kind::Number(n) if n.is_integer() => Some(n.numer().clone()),
            _ => None,
        };
        let parts: Vec<_> = rest.iter().map_while(whole).collect();
        let ([m, e, b], 3) = (&parts[..], rest.len()) else {
            return invalid(loc.clone(), "(digits m e b) of three integers is the form");
        };
        let (Some(e), Some(b)) = (e.to_i64(), b.to_u32().filter(|b| (2..=1 << 16).contains(b))) else {
            return invalid(loc.clone(), "the exponent or the base of these digits is out of reach");
        };
        match number::scale(m.clone(), b, e) {
            Ok(value) => self.literal(&value, precision, loc),
            Err(message) => invalid(loc.clone(), message),
        }
    }

    fn logic(&mut self, head: &str, rest: &[Node<'t>], precision: Format, loc: &Loc) -> Result<Value> {
        let mut values = Vec::new();
        for node in rest {
            let value = self.expression(node, precision)?;
            if self.format(value).is_some() {
                return invalid(self.loc(node), format!("'{head}' takes truth values, this is a number"));
            }
            values.push(value);
        }
        match (head, &values[..]) {
            ("not", [x]) => self.op("ng.not", &[*x], loc),
            ("not", _) => invalid(loc.clone(), "'not' takes one truth value"),
            (_, []) => self.emit("ng.constant", &[], [("value", Attr::Bool(head == "and"))], loc),
            (_, [first, others @ ..]) => {
                let name = if head == "and" { "ng.and" } else { "ng.or" };
                others.iter().try_fold(*first, |all, &x| self.op(name, &[all, x], loc))
            }
        }
    }

    /// A chain of relations: `(< a b c)` says `a < b` and `b < c`; `!=` says that all differ.
    fn relation(
        &mut self,
        head: &str,
        direction: &str,
        rest: &[Node<'t>],
        precision: Format,
        loc: &Loc,
    ) -> Result<Value> {
        // As many pairs as there are operands twice would fill the memory.
        if head == "!=" && rest.len() > 64 {
            return unsupported(loc.clone(), "'!=' of more than 64 operands");
        }
        let values = self.numbers(head, rest.len(), rest, precision, loc)?;
        let mut holds = None;
        for (i, &x) in values.iter().enumerate() {
            let last = if head == "!=" { values.len() } else { values.len().min(i + 2) };
            for &y in &values[i + 1..last] {
                let x = self.alike(&[x, y], None, loc)?;
                let one = self.compare(direction, x[0], x[1], loc)?;
                holds = Some(match holds {
                    Some(all) => self.op("ng.and", &[all, one], loc)?,
                    None => one,
                });
            }
        }
        match holds {
            Some(value) => Ok(value),
            None => self.emit("ng.constant", &[], [("value", Attr::Bool(true))], loc),
        }
    }

    fn call(
        &mut self,
        head: &str,
        callee: Callee,
        rest: &[Node<'t>],
        precision: Format,
        loc: &Loc,
    ) -> Result<Value> {
        let given = self.numbers(head, callee.arguments.len(), rest, precision, loc)?;
        let mut operands = Vec::new();
        for (x, &format) in given.into_iter().zip(&callee.arguments) {
            operands.push(self.converted(x, format, loc)?);
        }
        let Some(def) = self.context.op("func.call") else {
            return invalid(loc.clone(), "the dialect 'func' is not registered");
        };
        let state = ngc_ir::OpState {
            operands: operands.into(),
            results: [callee.result].into_iter().collect(),
            attrs: [("callee", Attr::Symbol(callee.symbol.into()))].into(),
            ..ngc_ir::OpState::new(def, loc.clone())
        };
        let op = self.body.create(state);
        self.body.append(self.block, op);
        Ok(self.body.result(op, 0))
    }

    /// The operands of an operator, all numbers.
    fn numbers(
        &mut self,
        head: &str,
        count: usize,
        rest: &[Node<'t>],
        precision: Format,
        loc: &Loc,
    ) -> Result<Vec<Value>> {
        if rest.len() != count {
            return invalid(loc.clone(), format!("'{head}' takes {count} operands, here are {}", rest.len()));
        }
        let mut values = Vec::new();
        for node in rest {
            let value = self.expression(node, precision)?;
            if self.format(value).is_none() {
                return invalid(self.loc(node), format!("'{head}' takes numbers, this is a truth value"));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The values in the least format that holds all of them, and those of `least`.
    fn alike(&mut self, values: &[Value], least: Option<Format>, loc: &Loc) -> Result<Vec<Value>> {
        let formats = values.iter().filter_map(|&v| self.format(v));
        match formats.chain(least).reduce(join) {
            Some(common) => values.iter().map(|&v| self.converted(v, common, loc)).collect(),
            None => Ok(values.to_vec()),
        }
    }

    /// The value in a format.
    pub fn converted(&mut self, value: Value, format: Format, loc: &Loc) -> Result<Value> {
        if self.format(value) == Some(format) {
            return Ok(value);
        }
        let to = Attr::Type(Type::scalar(DType::Float(format)));
        self.emit("ng.convert", &[value], [("to", to)], loc)
    }
}

/// The least of the formats that are read that holds the values of both.
fn join(a: Format, b: Format) -> Format {
    let holds = |wide: Format, narrow: Format| {
        wide.precision() >= narrow.precision()
            && wide.contains(narrow.max_finite())
            && wide.contains(narrow.min_subnormal())
    };
    if holds(a, b) {
        a
    } else if holds(b, a) {
        b
    } else {
        // binary16 and bfloat16.
        Format::F32
    }
}

fn lost<T>(loc: &Loc) -> Result<T> {
    invalid(loc.clone(), "an operand is needed here")
}
