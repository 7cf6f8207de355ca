//! Constants and sequences that constants define.

use ngc_ir::{Attr, AttrDict, Type, Value};
use ngc_numerics::{DType, Format, Tensor};

use super::Table;
use super::node::Node;
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};

pub(super) const OPS: Table =
    &[("Constant", constant), ("ConstantOfShape", constant_of_shape), ("Range", range)];

fn constant(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    for name in ["value_string", "value_strings", "sparse_value"] {
        if n.has(name) {
            return unsupported(format!("a constant given by '{name}'"));
        }
    }
    let (f32, i64) = (DType::Float(Format::F32), DType::Int(64));
    let of_tensor = |tensor: std::result::Result<Tensor, String>| tensor.map_err(FormatError::Invalid);
    if let Some(tensor) = n.opt_tensor("value")? {
        let attr = n.weight(tensor).map_err(|e| e.within("attribute 'value'"))?;
        return Ok(vec![n.emit("ng.constant", &[], [("value", attr)])?]);
    }
    let tensor = if let Some(x) = n.opt_float("value_float")? {
        Tensor::scalar(Format::F32, x)
    } else if let Some(x) = n.opt_int("value_int")? {
        Tensor::int_scalar(i64, x)
    } else if let Some(values) = n.opt_floats("value_floats")? {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        of_tensor(Tensor::new(f32, vec![values.len()], ngc_numerics::Data::Float(values)))?
    } else if let Some(values) = n.opt_ints("value_ints")? {
        of_tensor(Tensor::ints(i64, vec![values.len()], values))?
    } else {
        return invalid("it has no value");
    };
    Ok(vec![n.constant(&tensor)?])
}

fn constant_of_shape(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let shape = n.const_ints(0, "shape")?;
    let fill = match n.opt_tensor("value")? {
        Some(tensor) => n.weight(tensor).map_err(|e| e.within("attribute 'value'"))?,
        None => Attr::Float(0.0, Type::float(Format::F32)),
    };
    let one = n.emit("ng.constant", &[], [("value", fill)])?;
    let scalar = n.reshape(one, vec![])?;
    Ok(vec![n.emit("ng.broadcast_to", &[scalar], [("shape", Attr::ints(shape))])?])
}

fn range(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut attrs = AttrDict::EMPTY;
    for (i, name) in ["start", "limit", "delta"].into_iter().enumerate() {
        let Some(tensor) = n.opt_constant(i, name)? else {
            return invalid(format!("input {i} ({name}) is missing"));
        };
        let [value] = tensor.to_f64s()[..] else {
            return invalid(format!("input {i} ({name}) is not one number"));
        };
        attrs.set(name, value);
        attrs.set("type", Type::scalar(tensor.dtype));
    }
    Ok(vec![n.emit("ng.range", &[], attrs)?])
}
