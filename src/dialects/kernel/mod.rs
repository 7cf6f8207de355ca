//! The `kernel` dialect: loop nests over buffers, what lowering produces and native code is made of.
//!
//! MLIR's concepts: `scf` (loops), `memref` (buffers) and `vector`. Arithmetic is that of `ng`, whose ops work on vectors
//! as they do on scalars, so an operation has one meaning in a graph and in a loop. Each `ng` op in a kernel is one that
//! the processor rounds as the graph says: narrow formats are widened and narrowed by `ng.convert`, in sight.

pub mod buffer;
pub mod control;
pub mod vector;

use ngc_ir::{Signature, Type};
use ngc_numerics::DType;

/// The type of places and extents.
fn index() -> Type {
    Type::scalar(DType::Index)
}

/// Operands from the `from`-th on are places or extents.
fn indices(s: &Signature<'_>, from: usize, count: usize) -> Result<(), String> {
    let found = s.operands.get(from..).unwrap_or_default();
    if found.len() != count {
        return Err(format!("takes {count} indices, but has {}", found.len()));
    }
    match found.iter().find(|&&ty| ty != index()) {
        Some(ty) => Err(format!("its indices have type index, but one has type {ty}")),
        None => Ok(()),
    }
}

/// A scalar, or a vector of as many elements as the attribute `lanes` says.
fn lanes(s: &Signature<'_>, elem: DType) -> Result<Type, String> {
    match s.int("lanes") {
        None => Ok(Type::scalar(elem)),
        Some(n) => match usize::try_from(n) {
            Ok(n @ 1..) => Ok(Type::vector(n, elem)),
            _ => Err(format!("attribute 'lanes' must be positive, but is {n}")),
        },
    }
}
