//! The declaration of an op: everything that is known of it, in one `static`.
//!
//! MLIR's concept: an ODS record. Syntax, verification, type inference, documentation, evaluation and (later)
//! lowering all read the same [`OpDef`].

use ngc_numerics::{DType, Evaluator, Figures, Format, Lengths, Operands, ScalarFn, SumMethod, Tensor};

use crate::attributes::{Attr, AttrDict};
use crate::body::{Body, Op, Value};
use crate::builder::Builder;
use crate::structure::{Element, PickFn, StructureFn, read};
use crate::types::Type;

/// What is known of one kind of op.
pub struct OpDef {
    /// Full name, `dialect.op`.
    pub name: &'static str,
    /// One line: what it computes.
    pub summary: &'static str,
    /// Markdown: semantics, shapes, special values, reference.
    pub description: &'static str,
    /// A line of valid custom syntax, used in the documentation and tested.
    pub example: &'static str,
    /// Operands in order.
    pub operands: &'static [OperandDef],
    /// Inherent attributes.
    pub attributes: &'static [AttrDef],
    /// Results; their types come from `infer`.
    pub results: &'static [ResultDef],
    /// Regions, of one block each, that see the values around them.
    pub regions: &'static [RegionDef],
    /// Properties that passes may rely on.
    pub traits: Traits,
    /// Custom spelling.
    pub syntax: Syntax,
    /// Types of the results; also the shape check, so its errors name the mismatched dimensions.
    pub infer: InferFn,
    /// Checks beyond declared operands, attributes and `infer`.
    pub verify: Option<VerifyFn>,
    /// What it computes.
    pub semantics: Semantics,
    /// What an element of its results is made of over the reals; absent: that of its elementwise function or of its
    /// decomposition, and of other primitives nothing is known.
    pub structure: Option<StructureFn>,
    /// Of an op without a structure, as its places depend on data: where an element of its result lies; absent: nothing is known.
    pub pick: Option<PickFn>,
    /// Of an op without either: what an element of its first result is made of, the places left out; absent: nothing is known.
    pub made_of: Option<fn(&Signature<'_>) -> Option<Element>>,
    /// Of an op whose second result is what rounding took from the first.
    pub error_free: Option<ErrorFree>,
    /// Bounds of the 2-norms of the rows of its first result; absent: none is known.
    pub lengths: Option<LengthsFn>,
    /// Simplification that is exact in the format of the result, in canonicalize.
    pub fold: Option<FoldFn>,
    /// Replacement by a value that exists already: in canonicalize, after `fold`, and in cse where merging changed the
    /// operands.
    pub simplify: Option<SimplifyFn>,
    /// Its kernel, for lowering; absent: it is lowered through its meaning (the formula or the decomposition).
    pub lower: Option<LowerFn>,
    /// Analysis sharper than that of its formula or decomposition; a primitive has no other.
    pub transfer: Option<TransferFn>,
}

/// An error-free transformation: the first result is a function of corresponding elements of two operands, rounded once, and the
/// second what the function has beyond that, exactly.
pub struct ErrorFree {
    /// The function.
    pub of: &'static ScalarFn,
    /// Whether it is that only where the first operand is 0 or not below the second one.
    pub ordered: bool,
}

impl OpDef {
    /// What an element of the first result of an op whose places depend on data is made of, the places left out; nothing where
    /// nothing is known.
    pub fn source(&self, s: &Signature<'_>) -> Option<Element> {
        match (self.pick, self.made_of) {
            (Some(_), _) => Some(read(0, [])),
            (None, made_of) => made_of?(s),
        }
    }

    /// Defaults for struct update: a pure op without operands, attributes or results.
    pub const BASE: OpDef = OpDef {
        name: "",
        summary: "",
        description: "",
        example: "",
        operands: &[],
        attributes: &[],
        results: &[],
        regions: &[],
        traits: Traits::PURE,
        syntax: Syntax::Uniform,
        infer: |_| Ok(Vec::new()),
        verify: None,
        semantics: Semantics::None,
        structure: None,
        pick: None,
        made_of: None,
        error_free: None,
        lengths: None,
        fold: None,
        simplify: None,
        lower: None,
        transfer: None,
    };

    /// The name without its dialect.
    pub fn short_name(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, op)| op)
    }

    /// The declared attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&'static AttrDef> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

impl PartialEq for OpDef {
    fn eq(&self, other: &OpDef) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for OpDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Infers result types, or says in one sentence why the operands do not fit.
pub type InferFn = fn(&Signature<'_>) -> Result<Vec<Type>, String>;
/// Checks operands, attributes and the given result types.
pub type VerifyFn = fn(&Signature<'_>, &[Type]) -> Result<(), String>;
/// Evaluates on concrete tensors. The signature carries the tensors' types, all extents known.
pub type EvalFn = fn(&Evaluator, &Signature<'_>, &[&Tensor]) -> Result<Vec<Tensor>, String>;
/// Emits the op's reference meaning as simpler ops.
pub type DecomposeFn = fn(&mut Builder<'_>, &Signature<'_>, &[Value]) -> Result<Vec<Value>, String>;
/// Simplifies an op: the operands that are constants are given as attributes.
pub type FoldFn = fn(&Signature<'_>, &[Option<&Attr>]) -> Option<Fold>;
/// Finds a value that equals the single result of this op, bit for bit and for every input, by looking at the ops that
/// made its operands; NaN payloads do not count. It stands for the result only if it has the result's type, which the
/// caller checks.
pub type SimplifyFn = fn(&Body, Op) -> Option<Value>;

/// Emits the op in the kernel dialect, at the builder's place, from values that are lowered already.
pub type LowerFn = fn(&mut Builder<'_>, &Signature<'_>, &[Value]) -> Result<Vec<Value>, String>;

/// Bounds ranges, sensitivities and rounding errors of the results, from what is known of the operands and the types of
/// the results; nothing where the types do not say enough.
pub type TransferFn = fn(&Signature<'_>, &Operands<'_>, &[Type]) -> Option<Vec<Figures>>;

/// Bounds the 2-norms of the rows of the first result, over the reals and as computed, from what is known of the operands
/// and the figures of the result.
pub type LengthsFn = fn(&Signature<'_>, &Operands<'_>, &Figures) -> Option<Lengths>;

/// The outcome of a fold of an op with one result.
pub enum Fold {
    /// The result equals this operand.
    Operand(usize),
    /// The result is this constant.
    Constant(Attr),
}

/// What an op computes.
#[derive(Clone, Copy)]
pub enum Semantics {
    /// Nothing that the interpreter evaluates (functions, modules).
    None,
    /// One real function of corresponding elements, correctly rounded to the result's format.
    Elementwise(fn(&Signature<'_>) -> Result<Elementwise, String>),
    /// A primitive with an evaluation of its own.
    Primitive(EvalFn),
    /// Defined by simpler ops, each rounded by itself.
    Decomposition(DecomposeFn),
}

/// The real function of an elementwise op, with the values of its parameters.
pub struct Elementwise {
    /// The function.
    pub function: &'static ScalarFn,
    /// Its parameters, taken from attributes.
    pub params: Vec<f64>,
}

/// Custom spelling of an op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Syntax {
    /// `%r = ng.op %a, %b {attrs} : types -> types`, one type alone when all are equal.
    Uniform,
    /// `%r = ng.constant value {attrs} : type`.
    Constant,
    /// `module @name attributes {...} { ... }`.
    Module,
    /// `func.func @name(...) -> ... { ... }`.
    Func,
    /// `func.call @callee(%a) : (types) -> types`.
    Call,
    /// `func.return %a : types`.
    Return,
    /// `kernel.yield %a : types`: ends the region of an op.
    Yield,
}

/// Properties of an op that passes may rely on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traits {
    /// No effect but its results: may be erased when unused, merged when equal.
    pub pure: bool,
    /// The two first operands may be exchanged.
    pub commutative: bool,
    /// Ends a block.
    pub terminator: bool,
    /// Owns a body that sees no value from outside.
    pub isolated: bool,
    /// Defines the symbol `sym_name`.
    pub symbol: bool,
    /// Its single result is its attribute `value`.
    pub constant: bool,
    /// Its work is in sums of products, as many terms each as the first operand has elements in its last dimension.
    pub contraction: bool,
    /// Its two results are the words of a number: the second is what rounding took from the first.
    pub two_words: bool,
}

impl Traits {
    /// No property.
    pub const NONE: Traits = Traits {
        pure: false,
        commutative: false,
        terminator: false,
        isolated: false,
        symbol: false,
        constant: false,
        contraction: false,
        two_words: false,
    };
    /// Free of effects.
    pub const PURE: Traits = Traits { pure: true, ..Traits::NONE };
    /// Free of effects, made of sums of products.
    pub const CONTRACTION: Traits = Traits { contraction: true, ..Traits::PURE };
    /// Free of effects, operands exchangeable.
    pub const COMMUTATIVE: Traits = Traits { commutative: true, ..Traits::PURE };
}

/// A declared operand.
pub struct OperandDef {
    /// Name in the documentation and in messages.
    pub name: &'static str,
    /// What elements it may have.
    pub kind: ValueKind,
    /// How many values stand for it.
    pub arity: Arity,
}

/// A declared result.
pub struct ResultDef {
    /// Name in the documentation.
    pub name: &'static str,
    /// What elements it has.
    pub kind: ValueKind,
}

/// A declared region: its block ends in a terminator that yields the op's results.
pub struct RegionDef {
    /// Name in the documentation.
    pub name: &'static str,
    /// Types of the block's arguments.
    pub arguments: fn(&Signature<'_>) -> Vec<Type>,
}

/// How many values an operand declaration stands for. Optional and variadic ones come last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// Exactly one.
    One,
    /// One or none.
    Optional,
    /// Any number.
    Variadic,
}

/// Element kinds a value may have; scalar or tensor alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// Any floating-point format.
    Float,
    /// Any integer wider than one bit, or index.
    Int,
    /// `i1`.
    Bool,
    /// Floating point or integer, not `i1`.
    Number,
    /// Any number or truth value.
    Any,
    /// Any type at all.
    AnyType,
}

impl ValueKind {
    /// Whether a value of type `ty` is of this kind.
    pub fn admits(self, ty: Type) -> bool {
        match (self, ty.elem()) {
            (ValueKind::AnyType, _) => true,
            (_, None) => false,
            (ValueKind::Any, _) => true,
            (ValueKind::Float, Some(DType::Float(_))) => true,
            (ValueKind::Bool, Some(DType::Int(1))) => true,
            (ValueKind::Int | ValueKind::Number, Some(DType::Int(1))) => false,
            (ValueKind::Int, Some(DType::Int(_) | DType::Unsigned(_) | DType::Index)) => true,
            (ValueKind::Number, Some(_)) => true,
            _ => false,
        }
    }

    /// The kind in words.
    pub fn describe(self) -> &'static str {
        match self {
            ValueKind::Float => "floating-point",
            ValueKind::Int => "integer",
            ValueKind::Bool => "i1",
            ValueKind::Number => "numeric",
            ValueKind::Any => "scalar or tensor",
            ValueKind::AnyType => "any",
        }
    }
}

/// One required operand.
pub const fn operand(name: &'static str, kind: ValueKind) -> OperandDef {
    OperandDef { name, kind, arity: Arity::One }
}
/// One optional operand.
pub const fn optional(name: &'static str, kind: ValueKind) -> OperandDef {
    OperandDef { name, kind, arity: Arity::Optional }
}
/// Any number of operands.
pub const fn variadic(name: &'static str, kind: ValueKind) -> OperandDef {
    OperandDef { name, kind, arity: Arity::Variadic }
}
/// One result.
pub const fn result(name: &'static str, kind: ValueKind) -> ResultDef {
    ResultDef { name, kind }
}

/// A declared attribute.
pub struct AttrDef {
    /// Name.
    pub name: &'static str,
    /// What values it takes.
    pub kind: AttrKind,
    /// Whether it must be there, and what its absence means.
    pub default: Default,
    /// One line for the documentation.
    pub doc: &'static str,
}

/// The values an attribute takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AttrKind {
    /// An `i64`.
    Int,
    /// A real number (`f64`).
    Float,
    /// `true` or `false`.
    Bool,
    /// An array of `i64`.
    Ints,
    /// An array of arrays of `i64`, such as pads `[[0, 1], [0, 1]]`.
    IntPairs,
    /// A string.
    Str,
    /// One of these strings.
    Enum(&'static [&'static str]),
    /// A scalar type such as `f32`.
    ElemType,
    /// A floating-point scalar type.
    Format,
    /// A scalar or tensor type.
    Type,
    /// A function type.
    FunctionType,
    /// A symbol reference `@f`.
    Symbol,
    /// A number or tensor constant.
    Elements,
    /// An array of dictionaries.
    DictArray,
    /// Anything.
    Any,
}

/// What the absence of an attribute means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Default {
    /// It must be there.
    Required,
    /// It may be absent; the description says what that means.
    Absent,
    /// This integer.
    Int(i64),
    /// This number.
    Float(f64),
    /// This truth value.
    Bool(bool),
    /// This string.
    Str(&'static str),
}

/// A declared attribute that must be there.
pub const fn required(name: &'static str, kind: AttrKind, doc: &'static str) -> AttrDef {
    AttrDef { name, kind, default: Default::Required, doc }
}
/// A declared attribute with the meaning of its absence.
pub const fn attribute(name: &'static str, kind: AttrKind, default: Default, doc: &'static str) -> AttrDef {
    AttrDef { name, kind, default, doc }
}
/// The attributes of every reduction and contraction: where it accumulates, and how.
pub const ACCUMULATE: AttrDef = attribute(
    "accumulate",
    AttrKind::Format,
    Default::Absent,
    "format of the running sum and of every product in it; absent: the element type",
);
/// See [`ACCUMULATE`].
pub const SUM: AttrDef = attribute(
    "sum",
    AttrKind::Enum(&["naive", "pairwise", "kahan", "neumaier"]),
    Default::Str("naive"),
    "method of summation",
);

/// What hooks see of an op: its declaration, the types of its operands and its attributes. It serves an op in a
/// body and one that is about to be made alike.
#[derive(Clone, Copy)]
pub struct Signature<'a> {
    /// The declaration.
    pub def: &'static OpDef,
    /// Types of the operands.
    pub operands: &'a [Type],
    /// Attributes, inherent and discardable.
    pub attrs: &'a AttrDict,
}

impl<'a> Signature<'a> {
    /// The attribute as written.
    pub fn attr(&self, name: &str) -> Option<&'a Attr> {
        self.attrs.get(name)
    }

    fn default(&self, name: &str) -> Default {
        self.def.attribute(name).map_or(Default::Absent, |a| a.default)
    }

    /// An integer attribute or its default.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.attr(name).and_then(Attr::as_int).or(match self.default(name) {
            Default::Int(v) => Some(v),
            _ => None,
        })
    }

    /// A real attribute or its default.
    pub fn float(&self, name: &str) -> Option<f64> {
        self.attr(name).and_then(Attr::as_float).or(match self.default(name) {
            Default::Float(v) => Some(v),
            Default::Int(v) => Some(v as f64),
            _ => None,
        })
    }

    /// A truth value; absent without default is false.
    pub fn flag(&self, name: &str) -> bool {
        self.attr(name).and_then(Attr::as_bool).unwrap_or(self.default(name) == Default::Bool(true))
    }

    /// A string attribute or its default.
    pub fn string(&self, name: &str) -> Option<&'a str> {
        self.attr(name).and_then(Attr::as_str).or(match self.default(name) {
            Default::Str(v) => Some(v),
            _ => None,
        })
    }

    /// An array of integers, if present.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attr(name).and_then(Attr::as_ints)
    }

    /// A floating-point format given as a type, if present.
    pub fn format(&self, name: &str) -> Option<Format> {
        self.attr(name).and_then(Attr::as_type).and_then(Type::format)
    }

    /// An element type, if present.
    pub fn elem(&self, name: &str) -> Option<DType> {
        self.attr(name).and_then(Attr::as_type).and_then(Type::elem)
    }

    /// The format in which a reduction or contraction over elements of `format` accumulates.
    pub fn accumulate(&self, format: Format) -> Format {
        self.format("accumulate").unwrap_or(format)
    }

    /// The method of summation.
    pub fn sum_method(&self) -> SumMethod {
        match self.string("sum") {
            Some("pairwise") => SumMethod::Pairwise,
            Some("kahan") => SumMethod::Kahan,
            Some("neumaier") => SumMethod::Neumaier,
            _ => SumMethod::Naive,
        }
    }

    /// Type of the n-th operand; a sentence if it is missing.
    pub fn operand(&self, n: usize) -> Result<Type, String> {
        self.operands.get(n).copied().ok_or_else(|| {
            let what = self.def.operands.get(n).map_or("operand", |o| o.name);
            format!("{} is missing its operand '{what}'", self.def.name)
        })
    }

    /// Infers the result types.
    pub fn infer(&self) -> Result<Vec<Type>, String> {
        (self.def.infer)(self)
    }

    /// Checks operand count and kinds and the declared attributes, as the verifier does before `infer`.
    pub fn check(&self) -> Result<(), String> {
        let defs = self.def.operands;
        let min = defs.iter().filter(|o| o.arity == Arity::One).count();
        let variadic = defs.iter().any(|o| o.arity == Arity::Variadic);
        let n = self.operands.len();
        if n < min || (!variadic && n > defs.len()) {
            let expected = match (variadic, min == defs.len()) {
                (true, _) => format!("at least {min}"),
                (false, true) => format!("{min}"),
                (false, false) => format!("{min} to {}", defs.len()),
            };
            return Err(format!("expects {expected} operands, but has {n}"));
        }
        for (i, ty) in self.operands.iter().enumerate() {
            let Some(def) = defs.get(i).or(defs.last()) else { break };
            if !def.kind.admits(*ty) {
                let kind = def.kind.describe();
                let article = if kind.starts_with(['a', 'i']) { "an" } else { "a" };
                return Err(format!(
                    "operand '{}' must be {article} {kind} value, but has type {ty}",
                    def.name
                ));
            }
        }
        for def in self.def.attributes {
            match self.attr(def.name) {
                None if def.default == Default::Required => {
                    return Err(format!("requires attribute '{}'", def.name));
                }
                None => {}
                Some(value) if def.kind.admits(value) => {}
                Some(_) => {
                    return Err(format!("attribute '{}' must be {}", def.name, def.kind.describe()));
                }
            }
        }
        // A misspelt attribute would silently mean its default.
        if self.def.name.starts_with("ng.")
            && let Some((name, _)) = self
                .attrs
                .iter()
                .find(|(n, _)| !n.as_str().contains('.') && self.def.attribute(n.as_str()).is_none())
        {
            let known: Vec<&str> = self.def.attributes.iter().map(|a| a.name).collect();
            let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
            return Err(format!("has no attribute '{name}' (known: {known})"));
        }
        Ok(())
    }
}

impl AttrKind {
    /// Whether `value` is of this kind.
    pub fn admits(self, value: &Attr) -> bool {
        match self {
            AttrKind::Int => value.as_int().is_some(),
            AttrKind::Float => value.as_float().is_some(),
            AttrKind::Bool => value.as_bool().is_some(),
            AttrKind::Ints => value.as_ints().is_some(),
            AttrKind::IntPairs => {
                value.as_array().is_some_and(|rows| rows.iter().all(|r| r.as_ints().is_some()))
            }
            AttrKind::Str => value.as_str().is_some(),
            AttrKind::Enum(names) => value.as_str().is_some_and(|v| names.contains(&v)),
            AttrKind::ElemType => {
                value.as_type().is_some_and(|t| t.elem().is_some() && t.as_tensor().is_none())
            }
            AttrKind::Format => {
                value.as_type().is_some_and(|t| t.format().is_some() && t.as_tensor().is_none())
            }
            AttrKind::Type => value.as_type().is_some_and(|t| t.elem().is_some()),
            AttrKind::FunctionType => value.as_type().is_some_and(|t| t.as_function().is_some()),
            AttrKind::Symbol => value.as_symbol().is_some(),
            AttrKind::Elements => matches!(
                value,
                Attr::Int(..) | Attr::Float(..) | Attr::Bool(_) | Attr::Dense(_) | Attr::Resource(..)
            ),
            AttrKind::DictArray => {
                value.as_array().is_some_and(|items| items.iter().all(|i| matches!(i, Attr::Dict(_))))
            }
            AttrKind::Any => true,
        }
    }

    /// The kind in words, for messages and documentation.
    pub fn describe(self) -> String {
        match self {
            AttrKind::Int => "an integer".into(),
            AttrKind::Float => "a number".into(),
            AttrKind::Bool => "true or false".into(),
            AttrKind::Ints => "an array of integers".into(),
            AttrKind::IntPairs => "an array of arrays of integers".into(),
            AttrKind::Str => "a string".into(),
            AttrKind::Enum(names) => {
                let quoted: Vec<String> = names.iter().map(|n| format!("\"{n}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
            AttrKind::ElemType => "a scalar type".into(),
            AttrKind::Format => "a floating-point type".into(),
            AttrKind::Type => "a scalar or tensor type".into(),
            AttrKind::FunctionType => "a function type".into(),
            AttrKind::Symbol => "a symbol reference".into(),
            AttrKind::Elements => "a number or tensor constant".into(),
            AttrKind::DictArray => "an array of dictionaries".into(),
            AttrKind::Any => "any attribute".into(),
        }
    }
}
