//! Functions that have no implementation of their own, by the steps of their formulas: each is off by no more than was said.

use ngc_ir::op_def::{AttrKind, Elementwise};
use ngc_ir::{Attr, AttrDict, Module, OpDef, Semantics, Signature, Type};
use ngc_math::library::library;
use ngc_numerics::{Format, Random, Tensor};
use ngc_passes::lowering::functions::Functions;
use ngc_passes::lowering::{FUNCTIONS, lower_module};
use rug::Float;

use crate::support::{CONTEXT, load, module};

/// Elements of one call.
const COUNT: usize = 2048;
const FORMATS: [Format; 4] = [Format::F64, Format::F32, Format::F16, Format::Bf16];
/// The error that is allowed, so that steps in the format of the result are tried as well as those in a wider one.
const MOST: [f64; 2] = [0.75, 4.0];

/// An op with attributes, in a format.
struct Case {
    def: &'static OpDef,
    attrs: AttrDict,
    format: Format,
    name: String,
}

impl Case {
    fn meaning(&self) -> Option<Elementwise> {
        let Semantics::Elementwise(of) = self.def.semantics else { return None };
        let operands = vec![Type::float(self.format); self.def.operands.len()];
        of(&Signature { def: self.def, operands: &operands, attrs: &self.attrs }).ok()
    }

    fn text(&self) -> String {
        let ty = format!("tensor<{COUNT}x{}>", self.format);
        let names = ["%x", "%y", "%z"];
        let names = &names[..self.def.operands.len()];
        let arguments: Vec<String> = names.iter().map(|name| format!("{name}: {ty}")).collect();
        let said: Vec<String> = self
            .attrs
            .iter()
            .filter_map(|(name, value)| Some(format!("{name} = {:?}", value.as_float()?)))
            .collect();
        format!(
            "func.func @{}({}) -> {ty} {{\n  %r = \"{}\"({}) {{{}}} : ({}) -> {ty}\n  func.return %r : {ty}\n}}\n",
            self.name,
            arguments.join(", "),
            self.def.name,
            names.join(", "),
            said.join(", "),
            vec![ty.as_str(); names.len()].join(", "),
        )
    }
}

/// Every op of floating-point elements that is a formula, as it is declared and with other numbers in its attributes.
fn cases(r: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    for def in CONTEXT.ops().into_iter().filter(|def| def.name.starts_with("ng.")) {
        let numbers: Vec<&str> =
            def.attributes.iter().filter(|a| matches!(a.kind, AttrKind::Float)).map(|a| a.name).collect();
        for format in FORMATS {
            for drawn in 0..if numbers.is_empty() { 1 } else { 3 } {
                let number =
                    |r: &mut Random| Attr::from(if r.chance(30) { 0.25 } else { r.uniform(-2.0, 2.0) });
                let mut attrs = AttrDict::EMPTY;
                for name in numbers.iter().filter(|_| drawn > 0) {
                    attrs.set(*name, number(r));
                }
                let case = Case { def, attrs, format, name: format!("f{}", cases.len()) };
                let simple = |e: &Elementwise| e.function.as_primitive().is_none() && e.function.arity <= 2;
                if case.meaning().is_some_and(|e| simple(&e)) {
                    cases.push(case);
                }
            }
        }
    }
    cases
}

fn input(r: &mut Random, format: Format) -> Tensor {
    let hard =
        [0.0, f64::INFINITY, f64::NAN, format.max_finite(), format.min_normal(), format.min_subnormal()];
    let values = (0..COUNT).map(|n| match n % 4 {
        0 => r.pick(&hard) * r.pick(&[1.0, -1.0]),
        1 => r.uniform(-8.0, 8.0),
        2 => r.uniform(-1.0, 1.0) * 2f64.powi(-(r.below(40) as i32)),
        _ => r.uniform(-1.0, 1.0) * 2f64.powi(r.below(2 * format.emax() as usize) as i32 - format.emax()),
    });
    Tensor::floats(format, vec![COUNT], values.map(|x| format.round(x)).collect()).expect("a tensor")
}

/// How far a value is from the exact one, in units of its last place; `None` where that is no number other than 0.
fn error(e: &Elementwise, x: &[f64], y: f64, format: Format) -> Option<f64> {
    let arguments: Vec<Float> = x.iter().map(|&x| Float::with_val(53, x)).collect();
    let exact = e.function.eval_real(&e.params, &arguments, 200);
    let beyond = Float::with_val(200, 2f64.powi(format.emax() - 1)) * 4u32;
    if !exact.is_finite() || exact.is_zero() || *exact.as_abs() >= beyond {
        return None;
    }
    let exponent = (exact.get_exp()? - 1).max(format.emin());
    let ulp = exponent - format.precision() as i32 + 1;
    let y = match y.is_infinite() {
        true => beyond * y.signum(),
        false => Float::with_val(200, y),
    };
    Some(((y - exact).abs() >> ulp).to_f64())
}

#[test]
fn steps_are_off_by_what_is_said() {
    let mut r = Random::new(23);
    let cases = cases(&mut r);
    let mut seen = 0;
    for most in MOST {
        let mut functions = Functions::default();
        functions.most = most;
        functions.complete(&library(&CONTEXT, most, &[]).expect("the library")).expect("implementations");
        let said = |case: &Case| {
            let lowered = lower_module(&CONTEXT, &module(&case.text()), &functions, 256).ok()?.0;
            bound(&lowered, &functions, case)
        };
        let chosen: Vec<(&Case, f64)> = cases.iter().filter_map(|case| Some((case, said(case)?))).collect();
        let text: String = chosen.iter().map(|(case, _)| case.text()).collect();
        let compiled = load(&module(&text), &functions);
        for (case, bound) in chosen {
            let e = case.meaning().expect("a formula");
            assert!(bound <= most, "{} in {}: {bound}", case.def.name, case.format);
            let inputs: Vec<Tensor> = (0..e.function.arity).map(|_| input(&mut r, case.format)).collect();
            let ours = compiled.call(&case.name, &inputs, &[vec![COUNT]]).expect("results")[0].to_f64s();
            let columns: Vec<Vec<f64>> = inputs.iter().map(Tensor::to_f64s).collect();
            for (n, y) in ours.into_iter().enumerate() {
                let x: Vec<f64> = columns.iter().map(|column| column[n]).collect();
                let want = e.function.round_correctly(&e.params, &x, case.format);
                let (op, format) = (case.def.name, case.format);
                match error(&e, &x, y, format).filter(|_| !y.is_nan()) {
                    Some(error) => assert!(
                        error <= bound && y.is_sign_negative() == want.is_sign_negative(),
                        "{op}({x:?}, {:?}) in {format} is {y:?}, off by {error} where {bound} was said; {want:?} is right",
                        e.params
                    ),
                    None => assert!(
                        want.is_nan() && y.is_nan()
                            || want == y && want.is_sign_negative() == y.is_sign_negative(),
                        "{op}({x:?}, {:?}) in {format} is {y:?} and not {want:?}",
                        e.params
                    ),
                }
            }
            seen += 1;
        }
    }
    assert!(seen >= 40, "only {seen} functions are taken in steps");
}

/// What the kernel says of a function that it takes in steps; nothing of one that has an implementation.
fn bound(lowered: &Module, functions: &Functions, case: &Case) -> Option<f64> {
    let name = case.meaning()?.function.name;
    let format = if case.format == Format::F64 { Format::F64 } else { Format::F32 };
    if functions.find(name, format).is_some() {
        return None;
    }
    let kernel = lowered.ops().next()?;
    let Attr::Dict(said) = lowered.body.attr(kernel, FUNCTIONS)? else { return None };
    said.get(&format!("{name}_{}", case.format))?.as_float()
}
