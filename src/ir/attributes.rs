//! Attributes: constant data on ops, as in MLIR's builtin dialect.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ngc_numerics::{DType, Format, Payload};

use crate::ident::Ident;
use crate::location::Loc;
use crate::types::Type;

/// An attribute value. Cloning is cheap; large payloads are shared.
#[derive(Clone, Debug)]
pub enum Attr {
    /// Present without a value.
    Unit,
    /// `true`, `false` (an `i1` in MLIR).
    Bool(bool),
    /// `3 : i64`; the value fits the type.
    Int(i64, Type),
    /// `1.5 : f32`; the value is exact in the type's format.
    Float(f64, Type),
    /// `"text"`.
    Str(Arc<str>),
    /// A type.
    Type(Type),
    /// `[a, b]`.
    Array(Arc<[Attr]>),
    /// `{a = 1 : i64}`.
    Dict(AttrDict),
    /// `@outer::@inner`, stored without the first `@`.
    Symbol(Arc<str>),
    /// `dense<...> : tensor<...>`.
    Dense(Arc<Dense>),
    /// `array<i64: 1, 2>`; the scalar type, then little-endian data.
    DenseArray(Arc<Dense>),
    /// `dense_resource<key> : tensor<...>`: the data lie in the module's resources.
    Resource(Ident, Type),
    /// `loc(...)` used as an attribute.
    Loc(Loc),
    /// An attribute of a dialect that ngc does not know, kept as it was written, with the leading `#`.
    Opaque(Arc<str>),
}

/// Elements of a tensor constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Dense {
    /// The tensor (or, in a dense array, scalar) type.
    pub ty: Type,
    /// Element bytes, little endian, one byte for `i1`, three for `tf32`; a splat holds one element.
    pub bytes: Payload,
    /// Whether `bytes` is one element standing for all.
    pub splat: bool,
}

impl Attr {
    /// An `i64` attribute.
    pub fn int(value: i64) -> Attr {
        Attr::Int(value, Type::int(64))
    }

    /// An `f64` attribute.
    pub fn float(value: f64) -> Attr {
        Attr::Float(value, Type::float(Format::F64))
    }

    /// An array of `i64`.
    pub fn ints(values: impl IntoIterator<Item = i64>) -> Attr {
        Attr::Array(values.into_iter().map(Attr::int).collect())
    }

    /// The integer value.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Attr::Int(v, _) => Some(*v),
            _ => None,
        }
    }

    /// The value of a float attribute, or of an integer one taken as a real number.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Attr::Float(v, _) => Some(*v),
            Attr::Int(v, _) => Some(*v as f64),
            _ => None,
        }
    }

    /// The truth value.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Attr::Bool(v) => Some(*v),
            _ => None,
        }
    }

    /// The text of a string attribute.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Attr::Str(v) => Some(v),
            _ => None,
        }
    }

    /// The path of a symbol reference without its first `@`.
    pub fn as_symbol(&self) -> Option<&str> {
        match self {
            Attr::Symbol(v) => Some(v),
            _ => None,
        }
    }

    /// The type.
    pub fn as_type(&self) -> Option<Type> {
        match self {
            Attr::Type(t) => Some(*t),
            _ => None,
        }
    }

    /// The elements of an array attribute.
    pub fn as_array(&self) -> Option<&[Attr]> {
        match self {
            Attr::Array(v) => Some(v),
            _ => None,
        }
    }

    /// The integers of an array of integers, or of a dense array.
    pub fn as_ints(&self) -> Option<Vec<i64>> {
        match self {
            Attr::Array(v) => v.iter().map(Attr::as_int).collect(),
            Attr::DenseArray(d) => match d.ty.elem()? {
                DType::Int(64) | DType::Index => Some(
                    d.bytes
                        .chunks_exact(8)
                        .map(|c| i64::from_le_bytes(c.try_into().unwrap_or([0; 8])))
                        .collect(),
                ),
                DType::Int(32) => Some(
                    d.bytes
                        .chunks_exact(4)
                        .map(|c| i64::from(i32::from_le_bytes(c.try_into().unwrap_or([0; 4]))))
                        .collect(),
                ),
                _ => None,
            },
            _ => None,
        }
    }
}

impl From<bool> for Attr {
    fn from(v: bool) -> Attr {
        Attr::Bool(v)
    }
}
impl From<i64> for Attr {
    fn from(v: i64) -> Attr {
        Attr::int(v)
    }
}
impl From<f64> for Attr {
    fn from(v: f64) -> Attr {
        Attr::float(v)
    }
}
impl From<&str> for Attr {
    fn from(v: &str) -> Attr {
        Attr::Str(v.into())
    }
}
impl From<Type> for Attr {
    fn from(v: Type) -> Attr {
        Attr::Type(v)
    }
}
impl From<&[i64]> for Attr {
    fn from(v: &[i64]) -> Attr {
        Attr::ints(v.iter().copied())
    }
}
impl From<Vec<i64>> for Attr {
    fn from(v: Vec<i64>) -> Attr {
        Attr::ints(v)
    }
}

impl PartialEq for Attr {
    fn eq(&self, other: &Attr) -> bool {
        use Attr::*;
        match (self, other) {
            (Unit, Unit) => true,
            (Bool(a), Bool(b)) => a == b,
            (Int(a, t), Int(b, u)) => a == b && t == u,
            // Bits, so that NaN equals itself and the two zeros differ.
            (Float(a, t), Float(b, u)) => a.to_bits() == b.to_bits() && t == u,
            (Str(a), Str(b)) | (Symbol(a), Symbol(b)) | (Opaque(a), Opaque(b)) => a == b,
            (Type(a), Type(b)) => a == b,
            (Array(a), Array(b)) => a == b,
            (Dict(a), Dict(b)) => a == b,
            (Dense(a), Dense(b)) | (DenseArray(a), DenseArray(b)) => Arc::ptr_eq(a, b) || a == b,
            (Resource(a, t), Resource(b, u)) => a == b && t == u,
            (Loc(a), Loc(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Attr {}

impl Hash for Attr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Attr::Unit | Attr::Loc(_) => {}
            Attr::Bool(v) => v.hash(state),
            Attr::Int(v, t) => (v, t).hash(state),
            Attr::Float(v, t) => (v.to_bits(), t).hash(state),
            Attr::Str(v) | Attr::Symbol(v) | Attr::Opaque(v) => v.hash(state),
            Attr::Type(t) => t.hash(state),
            Attr::Array(v) => v.hash(state),
            Attr::Dict(v) => v.hash(state),
            // Weights may be large; a prefix is enough to tell most apart.
            Attr::Dense(d) | Attr::DenseArray(d) => {
                (d.ty, d.splat, d.bytes.len(), &d.bytes[..d.bytes.len().min(64)]).hash(state)
            }
            Attr::Resource(k, t) => (k, t).hash(state),
        }
    }
}

/// Named attributes, sorted by name, shared; the empty dictionary costs nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct AttrDict(Option<Arc<Vec<(Ident, Attr)>>>);

impl AttrDict {
    /// The empty dictionary.
    pub const EMPTY: AttrDict = AttrDict(None);

    /// A dictionary of these entries; of two with one name the last counts.
    pub fn new(entries: impl IntoIterator<Item = (Ident, Attr)>) -> AttrDict {
        let mut list: Vec<(Ident, Attr)> = entries.into_iter().collect();
        if list.is_empty() {
            return AttrDict(None);
        }
        list.reverse();
        list.sort_by_key(|(name, _)| *name);
        list.dedup_by_key(|(name, _)| *name);
        AttrDict(Some(Arc::new(list)))
    }

    /// The attribute called `name`.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.iter().find(|(n, _)| n.as_str() == name).map(|(_, a)| a)
    }

    /// Entries in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &(Ident, Attr)> {
        self.0.as_ref().map_or(&[][..], |v| &v[..]).iter()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |v| v.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Sets one entry.
    pub fn set(&mut self, name: impl Into<Ident>, value: impl Into<Attr>) {
        let name = name.into();
        let list = Arc::make_mut(self.0.get_or_insert_default());
        match list.binary_search_by_key(&name, |(n, _)| *n) {
            Ok(i) => list[i].1 = value.into(),
            Err(i) => list.insert(i, (name, value.into())),
        }
    }

    /// Removes one entry and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Attr> {
        let list = Arc::make_mut(self.0.as_mut()?);
        let i = list.iter().position(|(n, _)| n.as_str() == name)?;
        let (_, value) = list.remove(i);
        if list.is_empty() {
            self.0 = None;
        }
        Some(value)
    }
}

impl<const N: usize> From<[(&str, Attr); N]> for AttrDict {
    fn from(entries: [(&str, Attr); N]) -> AttrDict {
        AttrDict::new(entries.into_iter().map(|(n, a)| (Ident::new(n), a)))
    }
}
