//! Operators whose values ngc does not compute: factorisations and special functions.
//!
//! Each becomes a call of a declared function (see [`crate::opaque`]): nothing is known of its results, what stands around it is
//! cured, and a PyTorch module that is written calls the operator again.

use ngc_ir::{Type, Value};

use super::super::schema::Argument;
use super::super::weights::dtype;
use super::Table;
use super::node::Node;
use crate::error::{Result, unsupported};
use crate::pytorch;

pub(super) const OPS: Table = &[
    ("_linalg_det", call),
    ("_linalg_eigh", call),
    ("_linalg_slogdet", call),
    ("_linalg_solve_ex", call),
    ("_linalg_svd", call),
    ("_lu_with_info", call),
    ("adaptive_max_pool3d", call),
    ("cholesky", call),
    ("cholesky_inverse", call),
    ("cholesky_solve", call),
    ("det", call),
    ("erfinv", call),
    ("frexp", call),
    ("geqrf", call),
    ("histogram", call),
    ("i0", call),
    ("igamma", call),
    ("igammac", call),
    ("inverse", call),
    ("linalg_cholesky", call),
    ("linalg_cholesky_ex", call),
    ("linalg_cond", call),
    ("linalg_det", call),
    ("linalg_eigh", call),
    ("linalg_eigvalsh", call),
    ("linalg_householder_product", call),
    ("linalg_inv", call),
    ("linalg_inv_ex", call),
    ("linalg_ldl_factor", call),
    ("linalg_ldl_factor_ex", call),
    ("linalg_ldl_solve", call),
    ("linalg_lu", call),
    ("linalg_lu_factor", call),
    ("linalg_lu_factor_ex", call),
    ("linalg_lu_solve", call),
    ("linalg_matrix_exp", call),
    ("linalg_matrix_rank", call),
    ("linalg_pinv", call),
    ("linalg_qr", call),
    ("linalg_slogdet", call),
    ("linalg_solve", call),
    ("linalg_solve_ex", call),
    ("linalg_solve_triangular", call),
    ("linalg_svd", call),
    ("linalg_svdvals", call),
    ("linalg_tensorinv", call),
    ("linalg_tensorsolve", call),
    ("logdet", call),
    ("lu_solve", call),
    ("lu_unpack", call),
    ("matrix_exp", call),
    ("max_unpool2d", call),
    ("max_unpool3d", call),
    ("mode", call),
    ("multilabel_margin_loss", call),
    ("multilabel_margin_loss_forward", call),
    ("nanmedian", call),
    ("nanquantile", call),
    ("nextafter", call),
    ("ormqr", call),
    ("pinverse", call),
    ("polygamma", call),
    ("segment_reduce", call),
    ("signbit", call),
    ("slogdet", call),
    ("special_airy_ai", call),
    ("special_bessel_j0", call),
    ("special_bessel_j1", call),
    ("special_bessel_y0", call),
    ("special_bessel_y1", call),
    ("special_chebyshev_polynomial_t", call),
    ("special_chebyshev_polynomial_u", call),
    ("special_chebyshev_polynomial_v", call),
    ("special_chebyshev_polynomial_w", call),
    ("special_hermite_polynomial_h", call),
    ("special_hermite_polynomial_he", call),
    ("special_i0e", call),
    ("special_i1", call),
    ("special_i1e", call),
    ("special_laguerre_polynomial_l", call),
    ("special_legendre_polynomial_p", call),
    ("special_modified_bessel_i0", call),
    ("special_modified_bessel_i1", call),
    ("special_modified_bessel_k0", call),
    ("special_modified_bessel_k1", call),
    ("special_ndtri", call),
    ("special_polygamma", call),
    ("special_scaled_modified_bessel_k0", call),
    ("special_scaled_modified_bessel_k1", call),
    ("special_shifted_chebyshev_polynomial_t", call),
    ("special_shifted_chebyshev_polynomial_u", call),
    ("special_shifted_chebyshev_polynomial_v", call),
    ("special_shifted_chebyshev_polynomial_w", call),
    ("special_spherical_bessel_j0", call),
    ("special_zeta", call),
    ("svd", call),
    ("triangular_solve", call),
];

impl Node<'_, '_> {
    /// The node as it stands: its operator, the tensors that it takes, and its arguments as Python spells them, with `%N` for
    /// tensor N.
    fn as_written(&mut self) -> Result<(String, Vec<Value>, Vec<String>)> {
        let (mut operands, mut spelled) = (Vec::new(), Vec::new());
        for at in 0..self.proto.inputs.len() {
            let input = &self.proto.inputs[at];
            let name = input.name.as_str();
            let list = |all: Vec<String>| format!("[{}]", all.join(", "));
            let mut numbered = |values: Vec<Value>| -> Vec<String> {
                let first = operands.len();
                operands.extend(values.iter().copied());
                (first..operands.len()).map(|n| format!("%{n}")).collect()
            };
            let argument = match &input.arg {
                Argument::AsNone(_) => "None".to_string(),
                Argument::AsTensor(_) | Argument::AsOptionalTensor(_) => {
                    let value = self.opt_tensor(name)?;
                    numbered(value.into_iter().collect()).pop().unwrap_or_else(|| "None".into())
                }
                Argument::AsTensors(_) => list(numbered(self.tensors(name)?)),
                Argument::AsInt(n) => n.to_string(),
                Argument::AsInts(all) => list(all.iter().map(i64::to_string).collect()),
                Argument::AsFloat(x) => pytorch::float(x.0),
                Argument::AsBool(b) => if *b { "True" } else { "False" }.into(),
                // A `%` would stand for a tensor.
                Argument::AsString(text) => pytorch::string(text).replace('%', "\\u0025"),
                Argument::AsScalarType(code) => pytorch::dtype(Type::scalar(dtype(*code)?))?.to_string(),
                _ => return unsupported(format!("argument '{}'", name.escape_debug())),
            };
            self.read[at] = true;
            spelled.push(format!("{name}={argument}"));
        }
        let target = self.proto.target.strip_prefix("torch.ops.").unwrap_or(&self.proto.target);
        Ok((target.to_string(), operands, spelled))
    }
}

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
