//! Rounding errors of polynomials as questions to Gappa, which proves an enclosure of the difference of what is computed and what it
//! would be without rounding (M. Daumas and G. Melquiond, 2010).

use std::collections::HashMap;
use std::fmt::Write;

use ngc_ir::{Attr, Body, Context, Diagnostic, Value};
use ngc_numerics::Format;
use rug::Float;
use rustc_hash::FxBuildHasher;

use super::{formula, point, split_domain};
use crate::check::check;
use crate::text::{Statement, Text, parse};

/// For each polynomial with a directive a script whose answer is an enclosure of its rounding error on the range of the directive.
///
/// # Errors
/// What is wrong with a directive, or a step that Gappa does not have, located.
pub fn scripts(context: &Context, text: &Text) -> Result<Vec<String>, Diagnostic> {
    let wanted = text.statements.iter().filter(|s| s.op.text == "poly");
    wanted
        .filter_map(|s| Some((s, s.fit.as_ref()?)))
        .map(|(s, (directive, loc))| {
            script(context, s, directive).map_err(|m| Diagnostic::error(loc.clone(), m))
        })
        .collect()
}

fn script(context: &Context, s: &Statement, directive: &str) -> Result<String, String> {
    let rest = directive.strip_prefix("fit ").ok_or("is no `fit`")?.trim_start();
    let (name, rest) = rest.split_once(' ').ok_or("says neither a format nor a formula")?;
    let (ty, rounding) = match Format::from_name(name) {
        Some(Format::F32) => ("float", "ieee_32"),
        Some(Format::F64) => ("double", "ieee_64"),
        _ => return Err(format!("'{name}' is no format of Gappa")),
    };
    let (_, a, b, _) = split_domain(rest)?;
    // The polynomial by itself, as the steps that machines have.
    let items = s.items.iter().map(|(item, _)| item.to_string()).collect::<Vec<_>>().join(", ");
    let alone = format!("impl alone({ty} x) {{\n poly[{items}] x -> p\n ret p\n}}");
    let checked = parse(&alone, u16::MAX).and_then(|texts| check(context, &texts)).map_err(|d| d.message)?;
    let function = checked.machine.functions().first().copied().ok_or("has no steps")?;
    let body = checked.machine.body.body(function).ok_or("has no steps")?;
    let (rounded, exact, result) = steps(body)?;
    // Rounded outward.
    let end = |text: &str, up: bool| -> Result<String, String> {
        let value: Float = point(&formula(text)?, 0)?;
        let near = value.to_f64();
        Ok(format!(
            "{:e}",
            if near == 0.0 {
                near
            } else if up {
                near.next_up()
            } else {
                near.next_down()
            }
        ))
    };
    Ok(format!(
        "# {}\n@rnd = float<{rounding}, ne>;\nx = rnd(x_);\n{rounded}{exact}{{ x in [{}, {}] -> {result} - E{result} in ? }}\n",
        directive.replace('\n', " "),
        end(a, false)?,
        end(b, true)?
    ))
}

/// The steps with rounding, those without, and the name of the result.
fn steps(body: &Body) -> Result<(String, String, String), String> {
    let entry = body.entry().ok_or("has no steps")?;
    let mut names: HashMap<Value, (String, String), FxBuildHasher> = HashMap::default();
    names.insert(body.arguments(entry)[0], ("x".into(), "x".into()));
    let (mut rounded, mut exact, mut result) = (String::new(), String::new(), "x".to_string());
    for (n, op) in body.ops(entry).enumerate() {
        let operand =
            |k: usize| names.get(&body.operands(op)[k]).cloned().ok_or("uses a value that is not made");
        if body.op(op).def.is_some_and(|d| d.traits.terminator) {
            result = operand(0)?.0;
            break;
        }
        let value = body.result(op, 0);
        if let Some(Attr::Float(c, _)) = body.attr(op, "value") {
            names.insert(value, (dyadic(*c), dyadic(*c)));
            continue;
        }
        let formula = |pick: &dyn Fn((String, String)) -> String| -> Result<String, String> {
            let x = |k: usize| operand(k).map(pick);
            Ok(match body.name(op) {
                "ng.add" => format!("{} + {}", x(0)?, x(1)?),
                "ng.mul" => format!("{} * {}", x(0)?, x(1)?),
                "ng.fma" => format!("{} * {} + {}", x(0)?, x(1)?, x(2)?),
                other => return Err(format!("'{other}' is no step that is written for Gappa")),
            })
        };
        let _ = writeln!(rounded, "v{n} = rnd({});", formula(&|x| x.0)?);
        let _ = writeln!(exact, "Ev{n} = {};", formula(&|x| x.1)?);
        names.insert(value, (format!("v{n}"), format!("Ev{n}")));
    }
    Ok((rounded, exact, result))
}

/// A number as an integer times a power of two, in brackets where it is negative.
fn dyadic(x: f64) -> String {
    let (bits, size) = (x.to_bits(), x.abs());
    if size == 0.0 {
        return "0".into();
    }
    let exponent = (bits >> 52 & 0x7ff) as i64;
    let fraction = bits & ((1 << 52) - 1);
    let (integer, exponent) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    let shift = i64::from(integer.trailing_zeros());
    format!("({}{}b{})", if x < 0.0 { "-" } else { "" }, integer >> shift, exponent + shift)
}
