//! Laws hold, false ones are refused, and each is found in disguise.

use std::time::Instant;

use crate::evidence;
use ngc_dialects::facts::{Fact, Signs};
use ngc_ir::structure::{Axis, Index, Size};
use ngc_numerics::{DType, Data, Format, Tensor};
use ngc_reals::laws::build::{Bindings, Build};
use ngc_reals::laws::text::Expr;
use ngc_reals::laws::verify::{Verdict, agree, verify};
use ngc_reals::laws::{BUNDLED, Law, Laws};
use ngc_reals::store::Leaf;
use ngc_reals::{Facts, Node, Store, Use};

/// Points of each law. Where the certificate is fresh, so many are looked at, of one law in so many, others for each commit.
const POINTS: usize = 400;
const SAMPLE: usize = 40;
const STEP: usize = 12;

#[test]
fn bundled_laws_hold() {
    let start = Instant::now();
    let laws = Laws::bundled();
    println!("{} laws read in {:?}", laws.iter().count(), start.elapsed());
    let context = ngc_dialects::context();
    let asked = if evidence::whole("laws") { POINTS } else { SAMPLE };
    let sample: Vec<&Law> = evidence::sampled("laws", STEP, laws.iter());
    let mut wrong = Vec::new();
    for &law in &sample {
        let start = Instant::now();
        match verify(law, &context, asked) {
            Verdict::Holds { points, .. } if points >= asked / 20 => {
                println!("{} holds at {points} points, {:?}", law.name(), start.elapsed());
            }
            Verdict::Differs(point) => wrong.push(format!("{}: {point}", law.name())),
            other => wrong.push(format!("{}: {other:?}", law.name())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("certificate: {} laws hold at {asked} points", sample.len());
}

#[test]
fn laws_are_read_quickly() {
    for _ in 0..5 {
        let start = Instant::now();
        let syntax: usize = BUNDLED
            .iter()
            .map(|(_, text)| ngc_reals::laws::text::parse(text, 0).map_or(0, |x| x.len()))
            .sum();
        let parsed = start.elapsed();
        let laws: usize =
            BUNDLED.iter().map(|(_, text)| Laws::parse(text, 0).map_or(0, |x| x.iter().count())).sum();
        println!("{laws} laws: syntax {parsed:?}, with patterns {:?}", start.elapsed() - parsed);
        assert_eq!(syntax, laws);
    }
}

/// How a variable stands in a disguise: a factor, a number that is added, and a power.
const DISGUISES: [(i32, i32, i32); 6] = [(1, 0, 1), (2, 0, 1), (-1, 0, 1), (1, 1, 1), (1, 0, -1), (-3, 2, 1)];

/// Values of three elements, or of three rows of two.
fn point(round: usize, variable: usize, indexed: bool) -> Tensor {
    let count = if indexed { 6 } else { 3 };
    let element = |n: usize| {
        let x = ((round * 31 + variable * 17 + n * 7) as f64 * 0.618_033_988).fract();
        match round % 9 {
            _ if indexed => 0.5 + x,
            4 => 0.0,
            5 => 1.0,
            6 => -1.0,
            7 => 2.0,
            8 => (x - 0.5).round(),
            0 => x,
            1 => 4.0 * x - 2.0,
            2 => 0.5 + x * 1e-9,
            _ => 40.0 * x - 20.0,
        }
    };
    let shape = if indexed { vec![3, 2] } else { vec![3] };
    Tensor { dtype: DType::Float(Format::F64), shape, data: Data::Float((0..count).map(element).collect()) }
}

#[test]
fn laws_are_found_in_disguise() {
    let (laws, context) = (Laws::bundled(), ngc_dialects::context());
    let (mut found, mut tried, mut checked, mut errors) = (0, 0, 0, Vec::new());
    let mut spent = std::time::Duration::ZERO;
    for law in laws.iter() {
        let variables = &law.text.variables;
        for disguise in DISGUISES {
            if disguise.0 < 0 && variables.iter().any(|variable| variable.indexed) {
                continue;
            }
            let mut store = Store::new();
            let space = [Size::known(3)];
            let over = vec![Size::known(2)];
            let inner = [Size::known(3), Size::known(2)];
            let mut values = Vec::new();
            for (n, variable) in variables.iter().enumerate() {
                let (extents, space) =
                    if variable.indexed { (&inner[..], &inner[..]) } else { (&space[..], &space[..]) };
                let leaf = store.leaf_use(Leaf::Value(n as u32), extents);
                let (factor, shift, power) = if n == 0 { disguise } else { (1, 0, 1) };
                let power = store.power(leaf, power, space);
                values.push(Some(store.linear(shift.into(), vec![(factor.into(), power)], space)));
            }
            let bindings = Bindings { values, over: Some(over) };
            let beside = store.leaf_use(Leaf::Value(variables.len() as u32), &space);
            let mut build = Build {
                store: &mut store,
                facts: &mut Facts::default(),
                bindings: &bindings,
                space: space.to_vec(),
            };
            let left = build.expr(&law.text.left).expect("a term");
            let left = match store.node(left.id) {
                Node::Linear(c, terms) if c.is_zero() && terms.len() == 1 => terms[0].1.clone(),
                _ => left,
            };
            let whole = match store.node(left.id) {
                Node::Linear(..) => {
                    store.linear(0.into(), vec![(3.into(), left), (1.into(), beside)], &space)
                }
                Node::Product(_) => {
                    store.product((-2).into(), vec![(left, 1.into()), (beside, 1.into())], &space)
                }
                _ => left,
            };
            // What multiplies a product is no part of it.
            let whole = match store.node(whole.id) {
                Node::Linear(c, terms) if c.is_zero() && terms.len() == 1 => terms[0].1.clone(),
                _ => whole,
            };
            tried += 1;
            // What an index speaks of cannot be asked.
            let indexed: Vec<bool> = variables.iter().map(|variable| variable.indexed).collect();
            let mut positive = Facts::new(Box::new(move |leaf| match indexed.get(leaf as usize) {
                Some(true) => Fact { signs: Signs::POSITIVE, ..Fact::UNKNOWN },
                _ => Fact::UNKNOWN,
            }));
            let start = Instant::now();
            let all = laws.alternatives(&mut store, &mut positive, whole.id);
            spent += start.elapsed();
            let own = all.iter().any(|equal| equal.law == law.name());
            found += usize::from(own);
            if !own {
                let how = format!("{} in {disguise:?}: {}", law.name(), store.show(&whole));
                if disguise == DISGUISES[0] { errors.push(how) } else { println!("not found: {how}") }
            }
            let itself = Use { id: whole.id, map: (0..store.sizes(whole.id).len()).map(axis).collect() };
            for equal in &all {
                for round in 0..9 {
                    let leaves: Vec<Tensor> = (0..=variables.len())
                        .map(|n| point(round, n, variables.get(n).is_some_and(|v| v.indexed)))
                        .collect();
                    checked += 1;
                    if agree(&store, &context, [&itself, &equal.term], &[1], &leaves) == Some(false) {
                        let (left, right) = (store.show(&itself), store.show(&equal.term));
                        errors.push(format!("{}: {left}\n    is not {right}\n    at {leaves:?}", equal.law));
                        break;
                    }
                }
            }
        }
    }
    println!(
        "{found} of {tried} disguises are seen through; {checked} alternatives evaluated, made in {spent:?}"
    );
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn laws_hold_in_each_other() {
    let (laws, context) = (Laws::bundled(), ngc_dialects::context());
    let all: Vec<_> = laws.iter().filter(|law| law.text.variables.iter().all(|v| !v.indexed)).collect();
    let (mut checked, mut errors) = (0, Vec::new());
    // A number that looks like none lies exactly where other functions end, which no evaluation can see.
    let inners: Vec<_> = all.iter().filter(|law| !matches!(law.text.right, Expr::Number(_))).collect();
    for (n, outer) in all.iter().enumerate() {
        for m in 0..8 {
            let inner = inners[(n * 31 + m * 17 + m * m) % inners.len()];
            let mut store = Store::new();
            let leaf = |store: &mut Store, n: usize| Some(store.leaf_use(Leaf::Value(n as u32), &[]));
            let made = |store: &mut Store, law: &Law, values| {
                let bindings = Bindings { values, over: None };
                let facts = &mut Facts::default();
                Build { store, facts, bindings: &bindings, space: Vec::new() }.expr(&law.text.left)
            };
            let count = inner.text.variables.len();
            let values = (0..count).map(|n| leaf(&mut store, n)).collect();
            let part = made(&mut store, inner, values);
            // The other variables of the outer law are new, or those of the inner one.
            let first = if m % 2 == 0 { count } else { 0 };
            let others = 1..outer.text.variables.len();
            let mut values: Vec<_> = others.map(|n| leaf(&mut store, first + n)).collect();
            values.insert(m % outer.text.variables.len(), part);
            let Some(term) = made(&mut store, outer, values) else { continue };
            let itself = Use { id: term.id, map: term.map.clone() };
            for equal in laws.alternatives(&mut store, &mut Facts::default(), term.id) {
                // Exponentials of exponentials take small numbers.
                for round in [0, 1, 2, 4, 5, 6, 7, 8] {
                    // Nor of the distance of a place from itself, of which the cosine is where the arc cosine ends.
                    if outer.name().as_str() == "spherical-distance" && (4..=7).contains(&round) {
                        continue;
                    }
                    let leaves: Vec<Tensor> = (0..8).map(|n| scalar(point(round, n, false))).collect();
                    checked += 1;
                    if agree(&store, &context, [&itself, &equal.term], &[], &leaves) == Some(false) {
                        let (left, right) = (store.show(&itself), store.show(&equal.term));
                        let at: Vec<f64> = leaves.iter().map(|x| x.to_f64s()[0]).collect();
                        errors.push(format!("{}: {left}\n    is not {right}\n    at {at:?}", equal.law));
                        break;
                    }
                }
            }
        }
    }
    println!("{checked} points");
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// The first element.
fn scalar(of: Tensor) -> Tensor {
    Tensor { shape: Vec::new(), data: Data::Float(of.to_f64s()[..1].to_vec()), ..of }
}

fn axis(n: usize) -> Index {
    Index::axis(Axis(n as u32))
}

/// Laws that are none, as people write them.
const FALSE: &[&str] = &[
    "x / (1 + exp(-x)) = 1 / (1 + exp(-x))",
    "(x^2)^(1/2) = x",
    "log(x^2) = 2 * log(x)",
    "log(x * y) = log(x) + log(y)",
    "sqrt(x * y) = sqrt(x) * sqrt(y)",
    "sqrt(x / y) = sqrt(x) / sqrt(y)",
    "atan(x) - atan(y) = atan((x - y) / (1 + x*y))",
    "atan(y / x) = atan2(y, x)",
    "asin(sin(x)) = x",
    "atan(tan(x)) = x",
    "acos(cos(x)) = x",
    "sqrt(a) - b = (a - b^2) / (sqrt(a) + b)",
    "sqrt(a) - sqrt(b) = (a - b) / (sqrt(a) + sqrt(b))",
    "exp(min(x, 20000)) = exp(x)",
    "exp(min(x, 700)) = exp(x)",
    "max(x, -30000) = max(x, -1e9)",
    "exp(x - 30000) = exp(x - 1e9)",
    "1e-90 * x = 0 * x",
    "abs(x) + 1e-300 = abs(x)",
    "x + 1e-300 = x",
    "sqrt(x^2 + 1e-300) = abs(x)",
    "log(exp(x) + 1) = max(x, 0)",
    "1 - cos(x) = x^2 / 2",
    "sin(x) - x = -(x^3) * stumpff3(x) / 1.0000001",
    "x^p - 1 = expm1(p * log(x)) if x != 0",
    "x^3 - 1 = expm1(3 * log(x))",
    "(x^p)^q = x^(p*q)",
    "tanh(x) = sign(x) if abs(x) > 20",
    "max(x, y) = x if x > 0",
    "abs(x + y) = abs(x) + abs(y)",
    "floor(x + y) = floor(x) + floor(y)",
    "1 / (1 / x) = x + 1e-30",
    "sum[j] (a[j] * b[j]) = (sum[j] a[j]) * (sum[j] b[j])",
    "sum[j] (a[j]^2) = (sum[j] a[j])^2",
    "max[j] (a[j] * b) = b * max[j] a[j]",
    "max[j] abs(a[j]) = abs(max[j] a[j])",
    "log(sum[j] exp(a[j])) = max[j] a[j]",
    "log(prod[j] a[j]) = sum[j] log(a[j])",
    "min[j] a[j] = max[j] a[j]",
    "hypot(x, y) = abs(x) + abs(y) - min(abs(x), abs(y)) / 2",
    // What holds but for one number, or up to a magnitude.
    "exp(x) = where(x == 0.75, 0, exp(x))",
    "abs(x) = where(x == 0.75, 0, abs(x))",
    "exp(min(x, 1e6)) = exp(x)",
    "exp(max(x, -1e5)) = exp(x)",
    "log(exp(x) + exp(-1e6)) = x",
    "sqrt(x^2 + 1e-390) = abs(x)",
    "abs(x) + 1e-310 = abs(x)",
    "tanh(x) = sign(x) if abs(x) > 300",
    "1 - tanh(x) = 0 if x > 20",
    "x / (x + 1e-200) = 1",
    "x + y = x if abs(y) < 1e-300",
    "exp(x + y) = exp(x) if abs(y) < 1e-200",
    "max(x, y) = x if x > y - 1e-290",
    "x * exp(-x) / (x * exp(-x) + 1e-390) = 1 if x > 0",
    // What needs a condition.
    "x * (1/y) + 1/y = (x + 1)/y + 0 * sqrt(y)",
    "x / x = 1",
    "abs(x) + 0 * y = x * sign(y) * sign(y)",
    "sqrt(x) = abs(x) / sqrt(x)",
    "exp(p * log(x)) = x^p * sqrt(p^2) / p",
    "log(x / y) = log(x) - log(y)",
    "x^p = (x^2)^(p/2)",
    // What holds of one element, or of few.
    "sum[j] a[j] = max[j] a[j]",
    "(sum[j] a[j])^3 = sum[j] (a[j]^3)",
    "prod[j] a[j] = exp(sum[j] log(a[j]))",
    "max[j] (a[j]^2) = (max[j] a[j])^2",
    "sum[j] exp(a[j]) = exp(max[j] a[j])",
    "(sum[j] a[j]) * (sum[j] (1/a[j])) = 1",
    // What holds of whole numbers, of positive ones or of small ones.
    "sin(pi * x) = 0 * x",
    "cos(x)^2 = (1 + cos(2*x)) / 2 + 1e-100",
    "(-1)^x = 1 - 2 * abs(x)",
    "floor(x) = x",
    "x^3 = x",
    "cbrt(x^3) = abs(x)",
];

#[test]
fn false_laws_are_refused() {
    let context = ngc_dialects::context();
    let mut believed = Vec::new();
    for text in FALSE {
        let laws = match Laws::parse(&format!("/// False.\nfalse-law: {text}\n"), 0) {
            Ok(laws) => laws,
            Err(e) => {
                println!("{text}: {}", e.message);
                continue;
            }
        };
        for law in laws.iter() {
            match verify(law, &context, POINTS) {
                Verdict::Differs(point) => println!("{text}: {point}"),
                other => believed.push(format!("{text}: {other:?}")),
            }
        }
    }
    assert!(believed.is_empty(), "{}", believed.join("\n"));
}

/// Texts that are no laws, each with a word of the message that says why.
const MALFORMED: &[(&str, &str)] = &[
    ("a: x + y = y + x", "doc comment"),
    ("/// Text.\nA: x = y", "name of a law"),
    ("/// Text.\na: x + y = y + x", "normal form"),
    ("/// Text.\na: x - 1 = z", "does not speak of 'z'"),
    ("/// Text.\na: foo(x) = x", "no function 'foo'"),
    ("/// Text.\na: atan2(x) = x", "takes 2 operands"),
    ("/// Text.\na: exp(x[j]) = x", "reduction"),
    ("/// Text.\na: sum[j] sum[j] x[j] = x", "another"),
    ("/// Text.\na: sum[j] x[j] = sum[k] x[k]", "index of this law"),
    ("/// Text.\na: sum[j] (x[j] + x) = x", "at one place"),
    ("/// Text.\na: exp(x) = 1e99999", "exactly"),
    ("/// Text.\na: exp(x) = ", "term"),
    ("/// Text.\na: x = exp(x)", "left side"),
    ("/// Text.\na: 1 = 1", "no variable"),
    ("/// Text.\na: exp(x) = x if", ""),
    ("/// Text.\na: exp(x) = x if x", "relation"),
    ("/// Text.\na: exp(x) = x\n/// Text.\na: exp(y) = y", "another law"),
];

#[test]
fn malformed_laws_are_refused() {
    let deep = format!("/// Text.\na: {}x{} = x", "(".repeat(5000), ")".repeat(5000));
    let wide = format!("/// Text.\na: max({}x) = x", "x, ".repeat(100_000));
    let long = [(&deep[..], "nested"), (&wide[..], "takes 2 operands")];
    let cases = MALFORMED.iter().map(|(text, word)| (*text, *word)).chain(long);
    for (text, word) in cases {
        let shown: String = text.chars().take(80).collect();
        match Laws::parse(text, 0) {
            Ok(_) => panic!("{shown} is read"),
            Err(e) => assert!(e.message.contains(word), "{shown}: {}", e.message),
        }
    }
}

/// Programs that cancel or overflow, and the law that cures each.
const PROGRAMS: &[(&str, &str)] = &[
    ("sqrt(x + 1) - sqrt(x)", "sqrt-difference"),
    ("x - sqrt(x*x - e)", "sqrt-number-difference"),
    ("sqrt(1 + x*x) - 1", "sqrt-number-difference"),
    ("sqrt(b*b - 4*(a*c)) - b", "sqrt-number-difference"),
    ("(-b - sqrt(b*b - 4*(a*c))) / (2*a)", "quadratic-root"),
    ("(-b + sqrt(b*b - a*c)) / a", "quadratic-root"),
    ("1/sqrt(x) - 1/sqrt(x + 1)", "rsqrt-difference"),
    ("(x + 1)^(1/3) - x^(1/3)", "third-power-difference"),
    ("cbrt(x + 1) - cbrt(x)", "cbrt-difference"),
    ("(x + 1)^(1/n) - x^(1/n)", "power-difference"),
    ("(1 + i/n)^n - 1", "power-minus-one"),
    ("(x + e)^5 - x^5", "fifth-power-difference"),
    ("(x + e)^2 - x^2", "square-difference"),
    ("x^4 - y^4", "square-difference"),
    ("1 - x*x", "square-difference"),
    ("9*x^4 - y^4", "square-difference"),
    ("(x + 1)*(x + 1) - 1", "square-difference"),
    ("x^3 + 1", "cube-difference"),
    ("cos(x + e) - cos(x)", "cos-difference"),
    ("cos(x + e) - cos(x)", "cos-increment"),
    ("sin(x + e) - sin(x)", "sin-increment"),
    ("sin(x) + sin(y)", "sin-difference"),
    ("tan(x + e) - tan(x)", "tan-difference"),
    ("tan(x + e) - tan(x)", "tan-increment"),
    ("log(x / (x + y))", "log-of-part"),
    ("atan(n + 1) - atan(n)", "atan-difference"),
    ("(1 - cos(x)) / x^2", "one-minus-cos-over-number"),
    ("(1 - cos(x)) / sin(x)", "tan-half"),
    ("3 - 3*cos(2*x)", "one-minus-cos"),
    ("cos(x) - 1 + y", "one-minus-cos"),
    ("exp(x) - 2 + exp(-x)", "exp-second-difference"),
    ("exp(x) + 1/exp(x) - 2", "exp-second-difference"),
    ("exp(x) / (exp(x) - 1)", "exp-over-expm1"),
    ("e*(exp((a + b)*e) - 1) / ((exp(a*e) - 1)*(exp(b*e) - 1))", "exprel-of-sum"),
    ("1/x - 1/tan(x)", "reciprocal-minus-cotangent"),
    ("log(n + 1) - log(n)", "log-difference"),
    ("log((1 - e)/(1 + e))", "atanh"),
    ("(n + 1)*log(n + 1) - n*log(n) - 1", "entropy-difference"),
    ("(e - sin(e)) / (e - tan(e))", "sin-excess-over-tan-excess"),
    ("x - sin(x)", "angle-minus-sin"),
    ("(exp(2*x) - 1) / (exp(x) - 1)", "expm1-of-double"),
    ("log(x + sqrt(x*x + 1))", "asinh"),
    ("log(abs(x) + sqrt(x*x + 1))", "asinh-of-abs"),
    ("log(x + sqrt(x*x - 1))", "acosh"),
    ("log(1/x + sqrt(1 - x*x)/x)", "acosh-of-reciprocal"),
    ("(exp(x) - exp(-x)) / 2", "sinh"),
    ("(exp(x) - exp(-x)) / (exp(x) + exp(-x))", "tanh"),
    ("2/(1 + exp(-2*x)) - 1", "tanh-from-sigmoid"),
    ("pi/2 - 2*asin(sqrt((1 - x)/2))", "asin-from-half"),
    ("2*atan(sqrt((1 - x)/(1 + x)))", "acos-from-atan"),
    ("acos(x / sqrt(x*x + y*y + z*z))", "acos-of-quotient"),
    ("2*asin(x / sqrt(y + x*x))", "asin-of-quotient"),
    ("log1p(2*x/(1 - x)) / 2", "atanh-from-log1p"),
    ("exp(log(a) + log(b))", "exp-of-logs"),
    ("exp(2*log(a) - b)", "exp-of-logs"),
    ("sqrt(x*x - y*y)", "root-of-square-difference"),
    ("sqrt(b*b - 4*a*c)", "root-of-discriminant"),
    ("1 - tanh(x)", "one-minus-tanh"),
    ("log(1 - tanh(x)^2)", ""),
    ("(exp(x) - 1) / x", "exprel"),
    ("x / (exp(x) - 1)", "exprel"),
    ("exp(x) - x - 1", "exprel2"),
    ("1 - (1 + x)*exp(-x)", "exprel-slope"),
    ("(1 - exp(-x))/x - exp(-x)", "exprel-minus-exp"),
    ("x/y - log(x/y) - 1", "divergence-from-one"),
    ("x - log(1 + x)", "divergence-from-one"),
    ("log(1 + x) - x/(1 + x)", "log-less-its-slope"),
    ("(exp(x) - 1)/x - 1", "exprel-minus-one"),
    ("exp(-(x^2)/2) / (1 - erf(x/1.25))", "erfcx-below-by-sign"),
    ("exp(x^2/2) * (1 - erf(x/1.25))", "erfcx-by-sign"),
    ("exp(x^2) * (1 - erf(x))", "erfcx"),
    ("exp(-(x^2)/2) / (1 - erf(x/1.25))", "erfcx-below"),
    ("exp(-(x^2)/2) / (1 + erf(x/1.25))", "erfcx-below"),
    ("log(1/2 + erf(x)/2)", "log-of-half-erfc"),
    ("log((1 - erf(x/1.25))/2)", "log-of-half-erfc"),
    ("erf(x + y^2) - erf(x)", "erf-difference"),
    ("log(erf(x) - erf(y))", "log-of-erf-difference"),
    ("log((erf(x/1.25) - erf(y/1.25))/2)", "log-of-half-erf-difference"),
    ("lgamma(x + 3/2) - lgamma(x + 1/2)", "lgamma-recurrence"),
    ("lgamma((x + 1)/2) - lgamma(x/2)", "lgamma-difference"),
    ("lgamma(x) + lgamma(y) - lgamma(x + y)", "lgamma-beta"),
    ("y - x*log(y) + lgamma(x + 1)", "lgamma-saddle"),
    ("x + y - 2*sqrt(x*y)", "mean-gap"),
    ("log(tan(pi/4 + x/2))", "log-of-tan"),
    ("sin(x)/x", "sinc"),
    ("y * exp(a) / exp(b)", "exp-product"),
    ("log(cos(x))", "log-of-cos"),
    ("x*y - x", "common-factor"),
    ("log10(x + 1) - log10(x)", "common-factor"),
    ("(exp(x) - 1) + (exp(y) - 1) + (exp(x) - 1)*(exp(y) - 1)", "expm1-of-sum"),
    ("sqrt(exp(x) + 1)", "root-of-exp-and-one"),
    ("x * exp(x) * (exp(x) + 2) / (exp(x) * (exp(x) + 2) + 2)", "mish"),
    ("acos(1 - x)", "acos-near-one"),
    ("(prod[j] exp(a[j] + b))", "product-of-exp"),
];

#[test]
fn programs_are_cured() {
    let (laws, context) = (Laws::bundled(), ngc_dialects::context());
    let mut errors = Vec::new();
    for (program, cure) in PROGRAMS {
        let text = format!("/// A program.\nprogram: {program} = 0\n");
        let text =
            ngc_reals::laws::text::parse(&text, 0).unwrap_or_else(|e| panic!("{program}: {e:?}")).remove(0);
        let mut store = Store::new();
        let over = vec![Size::known(2)];
        let mut values = Vec::new();
        for (n, variable) in text.variables.iter().enumerate() {
            let extents = if variable.indexed { &over[..] } else { &[] };
            values.push(Some(store.leaf_use(Leaf::Value(n as u32), extents)));
        }
        let bindings = Bindings { values, over: Some(over) };
        let mut build =
            Build { store: &mut store, facts: &mut Facts::default(), bindings: &bindings, space: Vec::new() };
        let mut term = build.expr(&text.left).expect("a term");
        while let Node::Linear(c, terms) = store.node(term.id)
            && c.is_zero()
            && terms.len() == 1
        {
            term = terms[0].1.clone();
        }
        let all = laws.alternatives(&mut store, &mut Facts::default(), term.id);
        let shown: Vec<String> =
            all.iter().map(|x| format!("  {}: {}", x.law, store.show(&x.term))).collect();
        println!("{}\n{}", store.show(&term), shown.join("\n"));
        if !cure.is_empty() && !all.iter().any(|equal| equal.law.as_str() == *cure) {
            errors.push(format!("{program}: {cure} is not found\n{}", shown.join("\n")));
        }
        for equal in &all {
            for round in 0..18 {
                let leaves: Vec<Tensor> = text
                    .variables
                    .iter()
                    .enumerate()
                    .map(|(n, variable)| {
                        let all = point(round, n, variable.indexed);
                        let (count, shape) = if variable.indexed { (2, vec![2]) } else { (1, Vec::new()) };
                        let values = all.to_f64s()[..count].to_vec();
                        Tensor { shape, data: Data::Float(values), ..all }
                    })
                    .collect();
                if agree(&store, &context, [&term, &equal.term], &[], &leaves) == Some(false) {
                    errors.push(format!("{program}: {} is wrong at {leaves:?}", equal.law));
                }
            }
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
