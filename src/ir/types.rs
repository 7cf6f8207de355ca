//! Types: MLIR's builtin scalar, tensor, vector, memref and function types, and opaque types of unregistered dialects.

use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, RwLock};

use ngc_numerics::{DType, Format};
use rustc_hash::FxBuildHasher;

/// A type, interned for the life of the process: a copyable handle that derefs to its [`TypeKind`].
#[derive(Clone, Copy)]
pub struct Type(&'static TypeKind);

/// What a type is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeKind {
    /// A number by itself: `f32`, `i1`, `index`.
    Scalar(DType),
    /// `tensor<2x?xf16>`.
    Tensor(TensorType),
    /// `vector<16xf32>`.
    Vector(VectorType),
    /// `memref<?x4xf32>`: a buffer whose elements lie one behind the other, in row-major order.
    MemRef(TensorType),
    /// `(f32, f32) -> f32`.
    Function(FunctionType),
    /// `none`.
    None,
    /// A type of a dialect that ngc does not know, kept as it was written, with the leading `!`.
    Opaque(Box<str>),
}

/// A ranked tensor of numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorType {
    /// Extents, outermost first.
    pub shape: Box<[Dim]>,
    /// Type of the elements.
    pub elem: DType,
}

/// Numbers side by side, on which ops work element by element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VectorType {
    /// Their number.
    pub lanes: usize,
    /// Type of the elements.
    pub elem: DType,
}

/// Inputs and results of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FunctionType {
    /// Types of the arguments.
    pub inputs: Box<[Type]>,
    /// Types of the results.
    pub results: Box<[Type]>,
}

/// The extent of one tensor dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// Known when compiling.
    Static(usize),
    /// `?`: known when running.
    Dynamic,
}

impl Dim {
    /// The extent, if it is known.
    pub fn known(self) -> Option<usize> {
        match self {
            Dim::Static(n) => Some(n),
            Dim::Dynamic => None,
        }
    }
}

impl From<usize> for Dim {
    fn from(n: usize) -> Dim {
        Dim::Static(n)
    }
}

static TYPES: LazyLock<RwLock<HashSet<&'static TypeKind, FxBuildHasher>>> = LazyLock::new(RwLock::default);

impl Type {
    /// Interns a type.
    pub fn new(kind: TypeKind) -> Type {
        if let Some(&known) = TYPES.read().unwrap_or_else(|e| e.into_inner()).get(&kind) {
            return Type(known);
        }
        let mut types = TYPES.write().unwrap_or_else(|e| e.into_inner());
        if let Some(&known) = types.get(&kind) {
            return Type(known);
        }
        let kind: &'static TypeKind = Box::leak(Box::new(kind));
        types.insert(kind);
        Type(kind)
    }

    /// A scalar type.
    pub fn scalar(elem: DType) -> Type {
        Type::new(TypeKind::Scalar(elem))
    }

    /// A scalar floating-point type.
    pub fn float(format: Format) -> Type {
        Type::scalar(DType::Float(format))
    }

    /// A signless integer type of `width` bits.
    pub fn int(width: u8) -> Type {
        Type::scalar(DType::Int(width))
    }

    /// A ranked tensor type.
    pub fn tensor(shape: impl IntoIterator<Item = Dim>, elem: DType) -> Type {
        Type::new(TypeKind::Tensor(TensorType { shape: shape.into_iter().collect(), elem }))
    }

    /// A vector type.
    pub fn vector(lanes: usize, elem: DType) -> Type {
        Type::new(TypeKind::Vector(VectorType { lanes, elem }))
    }

    /// A buffer type.
    pub fn memref(shape: impl IntoIterator<Item = Dim>, elem: DType) -> Type {
        Type::new(TypeKind::MemRef(TensorType { shape: shape.into_iter().collect(), elem }))
    }

    /// A function type.
    pub fn function(inputs: &[Type], results: &[Type]) -> Type {
        Type::new(TypeKind::Function(FunctionType { inputs: inputs.into(), results: results.into() }))
    }

    /// The tensor type, if this is one.
    pub fn as_tensor(self) -> Option<&'static TensorType> {
        match self.0 {
            TypeKind::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// The vector type, if this is one.
    pub fn as_vector(self) -> Option<VectorType> {
        match self.0 {
            TypeKind::Vector(v) => Some(*v),
            _ => None,
        }
    }

    /// The shape and element type of a buffer, if this is one.
    pub fn as_memref(self) -> Option<&'static TensorType> {
        match self.0 {
            TypeKind::MemRef(t) => Some(t),
            _ => None,
        }
    }

    /// The function type, if this is one.
    pub fn as_function(self) -> Option<&'static FunctionType> {
        match self.0 {
            TypeKind::Function(f) => Some(f),
            _ => None,
        }
    }

    /// The element type of a tensor or vector, or the scalar type itself.
    pub fn elem(self) -> Option<DType> {
        match self.0 {
            TypeKind::Scalar(d) => Some(*d),
            TypeKind::Tensor(t) => Some(t.elem),
            TypeKind::Vector(v) => Some(v.elem),
            _ => None,
        }
    }

    /// The floating-point format of the elements, if they are floating-point numbers.
    pub fn format(self) -> Option<Format> {
        match self.elem() {
            Some(DType::Float(f)) => Some(f),
            _ => None,
        }
    }

    /// The shape of a tensor; a scalar has the empty shape.
    pub fn shape(self) -> Option<&'static [Dim]> {
        match self.0 {
            TypeKind::Scalar(_) => Some(&[]),
            TypeKind::Tensor(t) => Some(&t.shape),
            _ => None,
        }
    }

    /// The shape with all extents known, or nothing.
    pub fn static_shape(self) -> Option<Vec<usize>> {
        self.shape()?.iter().map(|d| d.known()).collect()
    }

    /// The same type (scalar, tensor or vector) with another element type.
    pub fn with_elem(self, elem: DType) -> Type {
        match self.0 {
            TypeKind::Scalar(_) => Type::scalar(elem),
            TypeKind::Tensor(t) => Type::tensor(t.shape.iter().copied(), elem),
            TypeKind::Vector(v) => Type::vector(v.lanes, elem),
            _ => self,
        }
    }

    /// Whether a value of type `self` may stand where `other` is expected: equal but for `?` extents.
    pub fn is_compatible(self, other: Type) -> bool {
        if self == other {
            return true;
        }
        match (self.0, other.0) {
            (TypeKind::Tensor(a), TypeKind::Tensor(b)) => {
                a.elem == b.elem
                    && a.shape.len() == b.shape.len()
                    && a.shape
                        .iter()
                        .zip(&b.shape)
                        .all(|(x, y)| x == y || *x == Dim::Dynamic || *y == Dim::Dynamic)
            }
            _ => false,
        }
    }
}

impl Deref for Type {
    type Target = TypeKind;
    fn deref(&self) -> &TypeKind {
        self.0
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Type {}

impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0 as *const TypeKind as usize).hash(state);
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Static(n) => write!(f, "{n}"),
            Dim::Dynamic => f.write_str("?"),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TypeKind::Scalar(d) => f.write_str(d.name()),
            TypeKind::Vector(v) => write!(f, "vector<{}x{}>", v.lanes, v.elem.name()),
            TypeKind::Tensor(t) | TypeKind::MemRef(t) => {
                let buffer = matches!(self.0, TypeKind::MemRef(_));
                f.write_str(if buffer { "memref<" } else { "tensor<" })?;
                for d in &t.shape {
                    write!(f, "{d}x")?;
                }
                write!(f, "{}>", t.elem.name())
            }
            TypeKind::Function(t) => {
                write!(f, "({}) -> ", comma(&t.inputs))?;
                match &*t.results {
                    [one] if one.as_function().is_none() => write!(f, "{one}"),
                    many => write!(f, "({})", comma(many)),
                }
            }
            TypeKind::None => f.write_str("none"),
            TypeKind::Opaque(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Items separated by `, `.
pub fn comma<T: fmt::Display>(items: &[T]) -> String {
    let mut out = String::new();
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&item.to_string());
    }
    out
}
