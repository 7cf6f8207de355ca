//! Operators whose values ngc does not compute: factorisations and special functions.
//!
//! Each becomes a call of a declared function (see [`crate::opaque`]): nothing is known of its results, what stands around it is
//! cured, and a PyTorch module that is written calls the operator again.

use ngc_ir::{Type, Value};

use super::Table;
use super::node::Node;
use crate::error::Result;

pub(super) const OPS: Table = &[
    ("_linalg_det", call),
    ("_linalg_eigh", call),
    ("_linalg_slogdet", call),
    ("_linalg_solve_ex", call),
    ("_linalg_svd", call),
    ("cholesky", call),
    ("cholesky_inverse", call),
    ("cholesky_solve", call),
    ("det", call),
    ("erfinv", call),
    ("i0", call),
    ("inverse", call),
    ("linalg_cholesky", call),
    ("linalg_cholesky_ex", call),
    ("linalg_det", call),
    ("linalg_eigh", call),
    ("linalg_eigvalsh", call),
    ("linalg_inv", call),
    ("linalg_inv_ex", call),
    ("linalg_ldl_factor_ex", call),
    ("linalg_lu_factor_ex", call),
    ("linalg_lu_solve", call),
    ("linalg_matrix_exp", call),
    ("linalg_pinv", call),
    ("linalg_qr", call),
    ("linalg_slogdet", call),
    ("linalg_solve", call),
    ("linalg_solve_triangular", call),
    ("linalg_svd", call),
    ("linalg_svdvals", call),
    ("logdet", call),
    ("matrix_exp", call),
    ("nanmedian", call),
    ("slogdet", call),
    ("special_i0e", call),
    ("special_i1", call),
    ("special_i1e", call),
    ("special_ndtri", call),
    ("triangular_solve", call),
];

pub(super) fn call(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (operator, operands, arguments) = n.as_written()?;
    let mut results = Vec::new();
    for i in 0..n.num_outputs() {
        let (dtype, extents) = n.declared(i)?;
        results.push(Type::tensor(extents.iter().map(|e| e.dim()), dtype));
    }
    let loc = n.loc.clone();
    n.function().call(&operator, arguments, &operands, &results, &loc)
}
