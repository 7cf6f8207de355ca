//! Ranges of inputs and of extents that the command line states.

use ngc_formats::pt2::schema::may_stand_for;
use ngc_ir::{Attr, AttrDict, Module, Op, Sources, Type};
use ngc_numerics::DType;
use ngc_passes::analysis::report::{argument_label, argument_name};

use super::flags::Flags;
use crate::load::Failure;

/// `NAME=[LO,HI]` as it is written, for messages, and in its parts.
#[derive(Clone, Debug)]
pub struct Stated {
    name: String,
    ends: [String; 2],
}

impl Stated {
    /// Reads `NAME=[LO,HI]`.
    ///
    /// # Errors
    /// Says how it is written.
    pub fn parse(text: &str) -> Result<Stated, String> {
        let parts = || {
            let (name, range) = text.split_once('=')?;
            let (lo, hi) = range.trim().strip_prefix('[')?.strip_suffix(']')?.split_once(',')?;
            let ends = [lo.trim().to_string(), hi.trim().to_string()];
            (!name.trim().is_empty()).then(|| Stated { name: name.trim().into(), ends })
        };
        parts().ok_or_else(|| "write NAME=[LO,HI], such as x=[-5,5]".into())
    }

    fn message(&self, what: &str) -> String {
        let [lo, hi] = &self.ends;
        format!("error: {}=[{lo},{hi}]: {what}", self.name)
    }

    fn values(&self, ty: Type) -> Result<Attr, String> {
        let both = match ty.elem() {
            Some(DType::Float(_)) => {
                let ends = self.numbers(|text| text.parse::<f64>().ok().filter(|x| !x.is_nan()))?;
                ends.map(Attr::float)
            }
            Some(elem) if elem != DType::BOOL => {
                self.numbers(|text| text.parse::<i64>().ok())?.map(Attr::int)
            }
            _ => return Err(self.message(&format!("an argument of type {ty} has no range"))),
        };
        Ok(Attr::Array(both.into_iter().collect()))
    }

    fn numbers<T: PartialOrd + Copy>(&self, parse: impl Fn(&str) -> Option<T>) -> Result<[T; 2], String> {
        let end = |text: &String| {
            parse(text).ok_or_else(|| self.message(&format!("'{text}' is no number of its type")))
        };
        let (lo, hi) = (end(&self.ends[0])?, end(&self.ends[1])?);
        if lo > hi {
            return Err(self.message("the first end is above the second"));
        }
        Ok([lo, hi])
    }
}

/// Writes what the flags state to the arguments of the functions that have a body.
///
/// # Errors
/// When a name is that of no argument or dimension, and where the ends are no range of its type.
pub fn state(flags: &Flags, module: &mut Module, sources: &Sources) -> Result<(), Failure> {
    if flags.range.is_empty() && flags.dim_range.is_empty() {
        return Ok(());
    }
    let functions: Vec<(Op, Vec<Argument>)> =
        module.functions().into_iter().map(|f| (f, arguments(module, f, sources))).collect();
    let all = || functions.iter().flat_map(|(_, arguments)| arguments);
    let mut ranges = flags.range.clone();
    for stated in &mut ranges {
        stated.name = known_as(&stated.name, all());
    }
    for (n, stated) in ranges.iter().enumerate() {
        if ranges[..n].iter().any(|before| before.name == stated.name) {
            return Err(stated.message("a range is stated for this name twice; state it once").into());
        }
        if stated.name != "*" && !all().any(|a| a.is(&stated.name)) {
            let known: Vec<&str> = all().map(|a| a.names[0].as_str()).collect();
            return Err(stated
                .message(&format!("no argument has this name; there are: {}", known.join(", ")))
                .into());
        }
    }
    for stated in &flags.dim_range {
        if !all().any(|a| a.dims.contains(&stated.name)) {
            let mut known: Vec<&str> =
                all().flat_map(|a| &a.dims).map(String::as_str).filter(|d| !d.is_empty()).collect();
            known.sort_unstable();
            known.dedup();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            let message = format!("no open dimension of an argument has this name; there are: {known}");
            return Err(stated.message(&message).into());
        }
    }
    for (function, arguments) in functions {
        let given = module.body.attr(function, "arg_attrs").and_then(Attr::as_array).unwrap_or_default();
        let mut dicts: Vec<AttrDict> = (0..arguments.len())
            .map(|n| match given.get(n) {
                Some(Attr::Dict(dict)) => dict.clone(),
                _ => AttrDict::EMPTY,
            })
            .collect();
        for (argument, dict) in arguments.iter().zip(&mut dicts) {
            argument.state(&ranges, &flags.dim_range, dict)?;
        }
        let dicts = Attr::Array(dicts.into_iter().map(Attr::Dict).collect());
        module.body.op_mut(function).attrs.set("arg_attrs", dicts);
    }
    Ok(())
}

/// A name as an argument has it, where one alone may stand for it in a graph of PyTorch.
fn known_as<'a>(name: &str, arguments: impl Iterator<Item = &'a Argument> + Clone) -> String {
    if arguments.clone().any(|a| a.is(name)) {
        return name.into();
    }
    let is_alike = |known: &String| may_stand_for(known, name);
    let mut alike: Vec<&String> =
        arguments.filter(|a| a.names.iter().any(is_alike)).map(|a| &a.names[0]).collect();
    alike.dedup();
    if let [one] = alike[..] { one.clone() } else { name.into() }
}

/// The names of the arguments of a function.
pub fn names(module: &Module, function: &str, sources: &Sources) -> Vec<String> {
    let found = module.symbol(function).map(|f| arguments(module, f, sources)).unwrap_or_default();
    found.into_iter().map(|mut argument| argument.names.swap_remove(0)).collect()
}

/// What an argument is called, and its dimensions.
pub struct Argument {
    /// Its type.
    pub ty: Type,
    /// The best name first.
    names: Vec<String>,
    dims: Vec<String>,
}

impl Argument {
    /// Its name, if it has another one than its number.
    pub fn own_name(mut self) -> Option<String> {
        (self.names.len() > 1).then(|| self.names.swap_remove(0))
    }

    fn is(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    fn state(&self, all: &[Stated], of_dims: &[Stated], dict: &mut AttrDict) -> Result<(), String> {
        // What is stated of all gives way to what is stated of one.
        let of_all = all.iter().filter(|s| s.name == "*" && self.ty.format().is_some());
        for stated in of_all.filter(|_| dict.get("ng.range").is_none()).collect::<Vec<_>>() {
            dict.set("ng.range", stated.values(self.ty)?);
        }
        for stated in all.iter().filter(|s| s.name != "*" && self.is(&s.name)) {
            dict.set("ng.range", stated.values(self.ty)?);
        }
        if !of_dims.iter().any(|s| self.dims.contains(&s.name)) {
            return Ok(());
        }
        let shape = self.ty.shape().unwrap_or_default();
        let given = dict.get("ng.dim_range").and_then(Attr::as_array).filter(|all| all.len() == shape.len());
        let range = |d: usize| -> Result<Attr, String> {
            let stated = of_dims.iter().rfind(|s| self.dims.get(d) == Some(&s.name));
            match (stated, shape[d].known()) {
                (_, Some(n)) => Ok(Attr::ints([n as i64, n as i64])),
                (Some(stated), None) => {
                    Ok(Attr::ints(stated.numbers(|text| text.parse::<i64>().ok().filter(|n| *n >= 0))?))
                }
                (None, None) => {
                    let known = given.and_then(|all| all.get(d)).cloned();
                    Ok(known.unwrap_or_else(|| Attr::ints([0, i64::MAX])))
                }
            }
        };
        let ranges = (0..shape.len()).map(range).collect::<Result<Vec<Attr>, String>>()?;
        dict.set("ng.dim_range", Attr::Array(ranges.into()));
        Ok(())
    }
}

pub fn arguments(module: &Module, function: Op, sources: &Sources) -> Vec<Argument> {
    let Some((body, entry)) = module.body.body(function).and_then(|b| Some((b, b.entry()?))) else {
        return Vec::new();
    };
    let attrs = &module.body.op(function).attrs;
    let argument = |(n, &v): (usize, &ngc_ir::Value)| {
        let dict = attrs.get("arg_attrs").and_then(Attr::as_array).and_then(|all| all.get(n));
        let dims = match dict {
            Some(Attr::Dict(dict)) => dict.get("ng.dims").and_then(Attr::as_array).unwrap_or_default(),
            _ => &[],
        };
        let names = [argument_label(attrs, n), argument_name(&body.argument_loc(entry, n), sources)];
        Argument {
            ty: body.ty(v),
            names: names.into_iter().flatten().chain([format!("arg{n}")]).collect(),
            dims: dims.iter().map(|d| d.as_str().unwrap_or_default().to_string()).collect(),
        }
    };
    let mut all: Vec<Argument> = body.arguments(entry).iter().enumerate().map(argument).collect();
    // What the author calls one argument may be what PyTorch calls another one: of `R` and `r` it calls the first `r`.
    let own: Vec<String> = all.iter().map(|argument| argument.names[0].clone()).collect();
    for Argument { names, .. } in &mut all {
        let others = names.split_off(1);
        names.extend(others.into_iter().filter(|name| !own.contains(name)));
    }
    all
}
