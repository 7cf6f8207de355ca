//! Samples: arrays that stand for the arguments of a function.

use ngc_ir::Type;
use ngc_numerics::tensor::{element_count, show};
use ngc_numerics::{DType, Data, Tensor};

/// Samples of the inputs of one function.
#[derive(Debug)]
pub struct Samples {
    function: String,
    pub(super) sets: Vec<Set>,
}

/// One tensor for each argument.
#[derive(Debug)]
pub(super) struct Set {
    count: usize,
    /// With whether its first axis runs over the samples.
    pub(super) arguments: Vec<(Tensor, bool)>,
}

/// An argument for which an array is looked for.
pub struct Parameter {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its type.
    pub ty: Type,
}

impl Samples {
    /// No samples yet, of a function of the module.
    pub fn of(function: &str) -> Samples {
        Samples { function: function.into(), sets: Vec::new() }
    }

    /// The function's symbol.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The number of samples.
    pub fn count(&self) -> usize {
        self.sets.iter().map(|set| set.count).sum()
    }

    /// Adds the samples in named arrays. An array stands for the argument of its name, or by position as `arg0`, `arr_0`
    /// or `0`; with one axis more than the argument its first axis runs over the samples, otherwise it serves all of them.
    /// Values are rounded to the argument's format; what was changed by that is returned in words.
    ///
    /// # Errors
    /// Says which array does not fit, and what would: unknown or missing arrays, other extents or kinds of elements,
    /// different numbers of samples or none, values that are infinite or NaN, integers out of range.
    pub fn add(
        &mut self,
        parameters: &[Parameter],
        arrays: Vec<(String, Tensor)>,
    ) -> Result<Vec<String>, String> {
        if arrays.is_empty() && !parameters.is_empty() {
            return Err(format!("there are no arrays; {}", self.wanted(parameters)));
        }
        let mut given: Vec<Option<(String, Tensor)>> = parameters.iter().map(|_| None).collect();
        for (name, array) in arrays {
            let Some(n) = position(parameters, &name) else {
                return Err(format!("array '{name}' stands for no argument; {}", self.wanted(parameters)));
            };
            if let Some((other, _)) = &given[n] {
                return Err(format!(
                    "arrays '{other}' and '{name}' both stand for argument {n}; leave one out"
                ));
            }
            given[n] = Some((name, array));
        }
        let mut notes = Vec::new();
        let mut set = Set { count: 1, arguments: Vec::new() };
        let mut first: Option<(String, usize)> = None;
        for (n, (found, parameter)) in given.into_iter().zip(parameters).enumerate() {
            let Some((name, array)) = found else {
                return Err(format!(
                    "no array stands for {}; {}",
                    spell(n, parameter),
                    self.wanted(parameters)
                ));
            };
            let many = fit(&name, &array, n, parameter)?;
            if many {
                let count = array.shape[0];
                if count == 0 {
                    return Err(format!("array '{name}' ({}) holds no samples", show(&array.shape)));
                }
                match &first {
                    Some((other, known)) if *known != count => {
                        return Err(format!(
                            "array '{other}' holds {known} samples, but '{name}' holds {count}; all must hold as many"
                        ));
                    }
                    _ => first = Some((name.clone(), count)),
                }
            }
            set.arguments.push((convert(&name, array, parameter.ty, &mut notes)?, many));
        }
        set.count = first.map_or(1, |(_, count)| count);
        self.sets.push(set);
        Ok(notes)
    }

    fn wanted(&self, parameters: &[Parameter]) -> String {
        let list: Vec<String> = parameters.iter().enumerate().map(|(n, p)| spell(n, p)).collect();
        format!("@{} takes {}", self.function, list.join(", "))
    }

    /// The inputs of sample `n`.
    pub(super) fn inputs(&self, n: usize) -> Vec<Tensor> {
        let mut n = n;
        for set in &self.sets {
            if n < set.count {
                return set
                    .arguments
                    .iter()
                    .map(|(t, many)| if *many { slice(t, n) } else { t.clone() })
                    .collect();
            }
            n -= set.count;
        }
        Vec::new()
    }
}

fn position(parameters: &[Parameter], array: &str) -> Option<usize> {
    let bare = array.strip_prefix('%').unwrap_or(array);
    parameters.iter().position(|p| p.name.as_deref() == Some(bare)).or_else(|| {
        let digits = bare.strip_prefix("arg").or(bare.strip_prefix("arr_")).unwrap_or(bare);
        digits.parse().ok().filter(|n| *n < parameters.len())
    })
}

fn spell(n: usize, parameter: &Parameter) -> String {
    match &parameter.name {
        Some(name) => format!("'{name}' (or 'arg{n}'): {}", parameter.ty),
        None => format!("'arg{n}': {}", parameter.ty),
    }
}

/// Whether the first axis of an array runs over samples.
fn fit(name: &str, array: &Tensor, n: usize, parameter: &Parameter) -> Result<bool, String> {
    let extents = parameter.ty.shape().unwrap_or(&[]);
    let agree = |shape: &[usize]| {
        shape.len() == extents.len()
            && shape.iter().zip(extents).all(|(&have, want)| want.known().is_none_or(|want| want == have))
    };
    if agree(&array.shape) {
        return Ok(false);
    }
    if array.rank() > 0 && agree(&array.shape[1..]) {
        return Ok(true);
    }
    let shape: String = extents.iter().map(|d| d.known().map_or("?x".into(), |n| format!("{n}x"))).collect();
    let one = if extents.is_empty() { "a scalar".into() } else { shape.trim_end_matches('x').to_string() };
    let many = format!("Nx{shape}");
    Err(format!(
        "array '{name}' is {}, which does not fit {}: it must be {one} for one sample, or {} for N samples",
        show(&array.shape),
        spell(n, parameter),
        many.trim_end_matches('x'),
    ))
}

/// The array in the argument's element type.
fn convert(name: &str, array: Tensor, ty: Type, notes: &mut Vec<String>) -> Result<Tensor, String> {
    let Some(to) = ty.elem() else {
        return Err(format!("array '{name}' stands for an argument of type {ty}, which holds no numbers"));
    };
    let from = array.dtype;
    let values = array.to_f64s();
    if let Some(i) = values.iter().position(|x| !x.is_finite()) {
        return Err(format!(
            "array '{name}' holds {} at index {i}: samples must be finite, since arguments are",
            values[i]
        ));
    }
    let data = match (to, &array.data) {
        (DType::Float(format), _) => {
            let rounded: Vec<f64> = values.iter().map(|&x| format.round(x)).collect();
            if let Some(i) = rounded.iter().position(|r| !r.is_finite()) {
                return Err(format!(
                    "array '{name}' holds {:?} at index {i}, beyond the range of {to}, whose largest value is {:?}",
                    values[i],
                    format.max_finite()
                ));
            }
            let changed = rounded.iter().zip(&values).filter(|(r, x)| r != x).count();
            if changed > 0 {
                notes.push(format!(
                    "array '{name}' is {from}, and its argument {to}: {changed} of {} values were rounded",
                    values.len()
                ));
            }
            Data::Float(rounded)
        }
        (_, Data::Int(ints)) => {
            let (least, greatest) = if to == DType::BOOL { (0, 1) } else { to.int_range() };
            if let Some(x) = ints.iter().find(|x| !(least..=greatest).contains(*x)) {
                return Err(format!(
                    "array '{name}' holds {x}, beyond the range of {to}, which is [{least}, {greatest}]"
                ));
            }
            Data::Int(ints.clone())
        }
        _ => {
            return Err(format!(
                "array '{name}' holds floating-point values ({from}), but its argument is {to}: store integers, as \
                 with astype(\"int64\")"
            ));
        }
    };
    Tensor::new(to, array.shape, data)
}

/// Element `n` along the first axis.
fn slice(tensor: &Tensor, n: usize) -> Tensor {
    let shape = tensor.shape[1..].to_vec();
    let size = element_count(&shape).unwrap_or(0);
    let part = n * size..(n + 1) * size;
    let data = match &tensor.data {
        Data::Float(v) => Data::Float(v[part].to_vec()),
        Data::Int(v) => Data::Int(v[part].to_vec()),
        Data::Real(v) => Data::Real(v[part].to_vec()),
    };
    Tensor { dtype: tensor.dtype, shape, data }
}
