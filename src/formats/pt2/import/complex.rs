//! Complex numbers: real and imaginary parts are values of their own.
//!
//! An operator of real numbers that is linear gives both parts of its result from those of its operands; one that is linear
//! in each of two operands gives products of parts. As an input or an output of the program a tensor of complex numbers has
//! its parts along one more dimension, the last, as `torch.view_as_real` gives them.

use ngc_ir::{Loc, Value};
use ngc_numerics::DType;

use super::super::schema::{Argument, NamedArgument, Node as Proto};
use super::node::{Node, Part};
use super::number::Number;
use super::program::{Known, Program};
use super::{alias, fourier, location};
use crate::emit::{Emit, Emitter};
use crate::error::{Result, invalid, unsupported};
use crate::fourier::{Complex, each, imaginary, joined, parts, times};

impl<'a> Program<'a> {
    /// The value of an output; real and imaginary parts are a last dimension, as `torch.view_as_real` has them.
    pub(super) fn result(&mut self, name: &str) -> Result<Value> {
        match self.known.get(name) {
            Some(&Known::Complex(z)) => {
                joined(&mut Emitter { function: &mut self.function, loc: &Loc::name(name) }, z)
            }
            _ => self.value(name),
        }
    }

    /// The parts of an argument.
    pub(super) fn taken_apart(&mut self, name: &str, value: Value) -> Result<Complex> {
        let mut extents = self.extents(value);
        extents.pop();
        let z = parts(&mut Emitter { function: &mut self.function, loc: &Loc::name(name) }, value)?;
        each(z, |part| {
            self.record(part, extents.clone());
            Ok(part)
        })
    }

    /// A node that takes or gives complex numbers.
    pub(super) fn complex(
        &mut self,
        proto: &'a Proto,
        name: &str,
        operator: &str,
        defined: &[&'a str],
    ) -> Result<()> {
        let loc = location::of(proto, name);
        let mut node = Node::new(self, proto, loc.clone());
        let results = import(&mut node, operator)?;
        node.finish()?;
        if results.len() != defined.len() {
            return invalid(format!("{} results, but {} names of them", results.len(), defined.len()));
        }
        for (name, z) in defined.iter().zip(results) {
            let re = self.as_declared(name, z.re, &loc)?;
            let im = z.im.map(|im| self.as_declared(name, im, &loc)).transpose()?;
            let known =
                if self.is_complex(name) { Known::Complex(Complex { re, im }) } else { Known::Value(re) };
            self.define(name, known)?;
        }
        Ok(())
    }

    /// The parts of a tensor, of which a real one has no imaginary part.
    pub(super) fn parts(&mut self, name: &str) -> Result<Complex> {
        match self.known.get(name) {
            Some(&Known::Complex(z)) => Ok(z),
            _ => Ok(Complex { re: self.value(name)?, im: None }),
        }
    }
}

impl<'g, 'a> Node<'g, 'a> {
    /// What an importer of real numbers gives for these parts of the tensors among the arguments.
    pub(super) fn with_parts(
        &mut self,
        parts: Vec<Part>,
        import: impl FnOnce(&mut Node<'g, 'a>) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        self.parts = parts;
        let results = import(self);
        self.parts.clear();
        let mut results = results?;
        // A view is made now, since nothing looks through parts.
        if self.reshaped.take().is_some() {
            let (_, extents) = self.declared(0)?;
            results =
                results.into_iter().map(|value| self.reshape(value, &extents)).collect::<Result<_>>()?;
        }
        Ok(results)
    }

    /// The real and imaginary parts of a tensor.
    pub(super) fn complex(&mut self, name: &str) -> Result<Complex> {
        let tensor = self.tensor_name(name);
        let tensor = self.given(name, tensor)?;
        self.program.parts(tensor).map_err(|e| e.within(format_args!("argument '{name}'")))
    }

    /// A tensor or a number, by its parts, which are of this type.
    pub(super) fn complex_operand(&mut self, name: &str, dtype: DType) -> Result<Complex> {
        let z = match self.argument(name) {
            Some(Argument::AsTensor(_)) => self.complex(name)?,
            Some(Argument::AsComplex(z)) => {
                let mut part = |x: f64| self.scalar(Number::Float(x), dtype);
                return Ok(Complex { re: part(z.real.0)?, im: Some(part(z.imag.0)?) });
            }
            _ => Complex { re: self.operand(name).and_then(|x| self.in_type(x, dtype))?, im: None },
        };
        crate::fourier::each(z, |x| self.convert(x, dtype))
    }

    /// This part of all tensors among the arguments but those called `whole`, which are no complex numbers.
    pub(super) fn all_parts(&self, part: Part, whole: &[&str]) -> Vec<Part> {
        let of = |input: &NamedArgument| {
            let own = if whole.contains(&input.name.as_str()) { Part::Real } else { part };
            vec![own; input.arg.names().len()]
        };
        self.proto.inputs.iter().flat_map(of).collect()
    }

    /// Whether each tensor among the arguments has imaginary parts.
    pub(super) fn are_complex(&self) -> Vec<bool> {
        let names = self.proto.inputs.iter().flat_map(|input| input.arg.names());
        names.map(|name| self.program.is_complex(name)).collect()
    }

    /// Whether the first result has complex numbers.
    pub(super) fn gives_complex(&self) -> bool {
        self.output_names().first().is_some_and(|name| self.program.is_complex(name))
    }
}

/// Emits the ops of a node with complex numbers.
pub(super) type Import = fn(&mut Node<'_, '_>) -> Result<Vec<Complex>>;

/// Operators that take real and imaginary parts for themselves.
const LINEAR: &str = "
    _reshape_alias _unsafe_view alias as_strided broadcast_tensors cat chunk clone constant_pad_nd contiguous copy
    cumsum detach diag_embed diagonal diagonal_scatter expand expand_as fft_fftshift fft_ifftshift flatten flip
    gather hstack index index_put index_select lift_fresh_copy masked_fill mean movedim narrow neg pad permute repeat
    repeat_interleave reshape reshape_as roll select select_scatter slice slice_scatter split split_with_sizes
    squeeze stack sum swapaxes t tile transpose tril triu unbind unflatten unfold unsqueeze view view_as
    vstack where
";

/// Operators that are linear in each of two tensors.
const PRODUCTS: &str = "
    bmm conv1d conv2d conv3d dot einsum inner kron linear matmul mm mv outer tensordot
";

/// Operands of linear operators that say where and not what.
const PLACES: &[&str] = &["condition", "index", "indices", "mask", "repeats"];

/// Numbers that linear operators put beside elements.
const BESIDE: &[&str] = &["fill_value", "other", "self", "value"];

const OPERATORS: &[(&str, Import)] = &[
    ("_conj", conjugate),
    ("_to_copy", converted),
    ("abs", |n| of(n, Part::Length, |n| Ok(vec![n.tensor("self")?]))),
    ("add", |n| sum(n, "self", "other", "ng.add")),
    ("angle", |n| {
        let z = own(n, "self")?;
        let im = imaginary(n, z)?;
        real(n.op("ng.atan2", &[im, z.re])?)
    }),
    ("complex", |n| Ok(vec![Complex { re: n.tensor("real")?, im: Some(n.tensor("imag")?) }])),
    ("conj", conjugate),
    ("conj_physical", conjugate),
    ("div", |n| {
        let dtype = n.declared(0)?.0;
        let (z, w) = (n.complex_operand("self", dtype)?, n.complex_operand("other", dtype)?);
        quotient(n, z, w)
    }),
    ("empty", filled),
    ("empty_like", filled),
    ("exp", |n| {
        let z = own(n, "self")?;
        let (length, im) = (n.op("ng.exp", &[z.re])?, imaginary(n, z)?);
        polar(n, length, im)
    }),
    ("fill", filled),
    ("full", filled),
    ("full_like", filled),
    ("imag", |n| {
        let z = own(n, "self")?;
        real(imaginary(n, z)?)
    }),
    ("linalg_vector_norm", |n| of(n, Part::Length, importer(n)?)),
    ("log", |n| {
        let z = own(n, "self")?;
        let im = imaginary(n, z)?;
        let (length, angle) = (n.op("ng.hypot", &[z.re, im])?, n.op("ng.atan2", &[im, z.re])?);
        Ok(vec![Complex { re: n.op("ng.log", &[length])?, im: Some(angle) }])
    }),
    ("mul", |n| {
        let dtype = n.declared(0)?.0;
        let (z, w) = (n.complex_operand("self", dtype)?, n.complex_operand("other", dtype)?);
        Ok(vec![times(n, z, w)?])
    }),
    ("new_empty", filled),
    ("new_full", filled),
    ("new_ones", filled),
    ("new_zeros", filled),
    ("ones", filled),
    ("ones_like", filled),
    ("polar", |n| {
        let (length, angle) = (n.tensor("abs")?, n.tensor("angle")?);
        polar(n, length, angle)
    }),
    ("pow", |n| match n.number("exponent")?.to_f64() {
        2.0 => square(n),
        exponent => unsupported(format!("complex numbers to the power of {exponent}")),
    }),
    ("real", |n| real(own(n, "self")?.re)),
    ("reciprocal", |n| {
        let z = own(n, "self")?;
        let elem = n.elem(z.re)?;
        let one = Complex { re: n.scalar(Number::Int(1), elem)?, im: None };
        quotient(n, one, z)
    }),
    ("resolve_conj", |n| Ok(vec![own(n, "self")?])),
    ("resolve_neg", |n| Ok(vec![own(n, "self")?])),
    ("rsub", |n| sum(n, "other", "self", "ng.sub")),
    ("square", square),
    ("sub", |n| sum(n, "self", "other", "ng.sub")),
    ("to", converted),
    ("view_as_complex", |n| {
        let x = n.tensor("self")?;
        Ok(vec![parts(n, x)?])
    }),
    ("view_as_real", |n| {
        let z = own(n, "self")?;
        real(joined(n, z)?)
    }),
    ("zero", filled),
    ("zeros", filled),
    ("zeros_like", filled),
];

/// What an operator gives, by parts.
pub(super) fn import(n: &mut Node<'_, '_>, operator: &str) -> Result<Vec<Complex>> {
    let known = OPERATORS.iter().chain(fourier::OPERATORS).find(|(name, _)| *name == operator);
    if let Some((_, import)) = known {
        return import(n);
    }
    let import = importer(n)?;
    let is_among = |list: &str| list.split_whitespace().any(|name| name == operator);
    match n.are_complex()[..] {
        [true] if is_among(PRODUCTS) => both(n, import),
        [a, b] if is_among(PRODUCTS) => product(n, import, a, b),
        _ if is_among(LINEAR) => both(n, import),
        _ => unsupported("complex numbers in an operator that is read of real numbers only"),
    }
}

/// A tensor among the arguments.
fn own(n: &mut Node<'_, '_>, name: &str) -> Result<Complex> {
    let z = n.complex(name)?;
    let (dtype, _) = n.declared(0)?;
    each(z, |x| n.convert(x, dtype))
}

fn real(value: Value) -> Result<Vec<Complex>> {
    Ok(vec![Complex { re: value, im: None }])
}

/// Both parts by an importer of real numbers.
fn both(n: &mut Node<'_, '_>, import: super::Import) -> Result<Vec<Complex>> {
    for name in BESIDE.iter().filter(|name| n.has_number(name)).collect::<Vec<_>>() {
        let number = n.float(name, 0.0)?;
        if number != 0.0 {
            return unsupported(format!("{name} = {number} beside complex numbers"));
        }
    }
    let mut part = |part: Part| {
        let parts = n.all_parts(part, PLACES);
        n.with_parts(parts, import)
    };
    let (re, im) = (part(Part::Real)?, part(Part::Imaginary)?);
    Ok(re.into_iter().zip(im).map(|(re, im)| Complex { re, im: Some(im) }).collect())
}

/// (a + bi) (c + di) for an importer that is linear in both.
fn product(n: &mut Node<'_, '_>, import: super::Import, first: bool, second: bool) -> Result<Vec<Complex>> {
    let mut of = |a: Part, b: Part| match n.with_parts(vec![a, b], import)?[..] {
        [value] => Ok(value),
        _ => invalid("it has not one result"),
    };
    let (real, imaginary) = (Part::Real, Part::Imaginary);
    let re = of(real, real)?;
    let crossed = match (first, second) {
        (true, true) => Some((of(imaginary, imaginary)?, of(real, imaginary)?, of(imaginary, real)?)),
        _ => None,
    };
    let z = match crossed {
        Some((lost, one, other)) => {
            Complex { re: n.op("ng.sub", &[re, lost])?, im: Some(n.op("ng.add", &[one, other])?) }
        }
        None if first => Complex { re, im: Some(of(imaginary, real)?) },
        None => Complex { re, im: Some(of(real, imaginary)?) },
    };
    Ok(vec![z])
}

/// The sum or the difference of two operands, the second of which has a factor.
fn sum(n: &mut Node<'_, '_>, first: &str, second: &str, op: &str) -> Result<Vec<Complex>> {
    let (dtype, extents) = n.declared(0)?;
    let (z, mut w) = (n.complex_operand(first, dtype)?, n.complex_operand(second, dtype)?);
    let alpha = n.opt_number("alpha")?.unwrap_or(Number::Int(1));
    if alpha.to_f64() != 1.0 {
        let alpha = n.scalar(alpha, dtype)?;
        w = each(w, |x| n.op("ng.mul", &[x, alpha]))?;
    }
    let im = match (z.im, w.im) {
        (Some(a), Some(b)) => Some(n.op(op, &[a, b])?),
        (Some(a), None) => Some(a),
        (None, Some(b)) if op == "ng.sub" => Some(n.op("ng.neg", &[b])?),
        (None, b) => b,
    };
    let im = im.map(|im| n.broadcast(im, &extents)).transpose()?;
    Ok(vec![Complex { re: n.op(op, &[z.re, w.re])?, im }])
}

/// The quotient; the parts of what divides are scaled to at most 1, as the kernels of torch do, so that squares of them
/// neither overflow nor vanish.
fn quotient(n: &mut Node<'_, '_>, z: Complex, w: Complex) -> Result<Vec<Complex>> {
    let Some(im) = w.im else { return Ok(vec![each(z, |x| n.op("ng.div", &[x, w.re]))?]) };
    let (a, b) = (n.op("ng.abs", &[w.re])?, n.op("ng.abs", &[im])?);
    let greatest = n.op("ng.max", &[a, b])?;
    let scale = n.op("ng.reciprocal", &[greatest])?;
    let z = each(z, |x| n.op("ng.mul", &[x, scale]))?;
    let w = each(w, |x| n.op("ng.mul", &[x, scale]))?;
    let conjugate = Complex { re: w.re, im: w.im.map(|im| n.op("ng.neg", &[im])).transpose()? };
    let (above, below) = (times(n, z, conjugate)?, times(n, w, conjugate)?);
    Ok(vec![each(above, |x| n.op("ng.div", &[x, below.re]))?])
}

/// The number of this length and angle.
fn polar(n: &mut Node<'_, '_>, length: Value, angle: Value) -> Result<Vec<Complex>> {
    let (cosine, sine) = (n.op("ng.cos", &[angle])?, n.op("ng.sin", &[angle])?);
    Ok(vec![Complex { re: n.op("ng.mul", &[length, cosine])?, im: Some(n.op("ng.mul", &[length, sine])?) }])
}

fn conjugate(n: &mut Node<'_, '_>) -> Result<Vec<Complex>> {
    let z = own(n, "self")?;
    Ok(vec![Complex { re: z.re, im: z.im.map(|im| n.op("ng.neg", &[im])).transpose()? }])
}

/// A tensor of real numbers, or of complex numbers of another format, as complex numbers.
fn converted(n: &mut Node<'_, '_>) -> Result<Vec<Complex>> {
    n.ignore_place();
    n.ignore(&["dtype", "copy"]);
    if !n.gives_complex() {
        return unsupported("complex numbers as real ones; take .real");
    }
    Ok(vec![own(n, "self")?])
}

fn square(n: &mut Node<'_, '_>) -> Result<Vec<Complex>> {
    let z = own(n, "self")?;
    Ok(vec![times(n, z, z)?])
}

/// A tensor of one real number.
fn filled(n: &mut Node<'_, '_>) -> Result<Vec<Complex>> {
    of(n, Part::Real, importer(n)?)
}

/// The importer of real numbers.
fn importer(n: &Node<'_, '_>) -> Result<super::Import> {
    match super::OPERATORS.get(alias::canonical(n.operator())) {
        Some(import) => Ok(*import),
        None => unsupported("complex numbers in an operator that is not read"),
    }
}

/// Real numbers from a part of what is given.
fn of(n: &mut Node<'_, '_>, part: Part, import: super::Import) -> Result<Vec<Complex>> {
    match n.with_parts(vec![part], import)?[..] {
        [re] => real(re),
        _ => invalid("it has not one result"),
    }
}
