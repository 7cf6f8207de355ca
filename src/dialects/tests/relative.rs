//! Errors in relative form rank what absolute ones cannot.

use ngc_dialects::transfer::Flow;
use ngc_ir::{Attr, AttrDict, Body, Builder, Loc, Type, Value};
use ngc_numerics::{DType, Enclosure, Format, Mixed, Range};

/// A graph of one argument of values between two, and what is known of its last value.
struct Bound {
    range: Range,
    error: f64,
    mixed: Mixed,
}

impl Bound {
    /// The error relative to the value, or to `floor` where that is greater.
    fn relative(&self, floor: f64) -> f64 {
        self.mixed.from(ngc_numerics::figures::mignitude(&self.range.exact).max(floor))
    }
}

type Make<'a> = &'a dyn Fn(&mut Builder<'_>, Value) -> Result<Value, String>;

fn bound(shape: &[usize], format: Format, (lo, hi): (f64, f64), make: Make<'_>) -> Bound {
    let context = ngc_dialects::context();
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let ty = Type::tensor(shape.iter().map(|&n| n.into()), DType::Float(format));
    let x = body.add_argument(block, ty, Loc::Unknown);
    let value = make(&mut Builder::at_end(&context, &mut body, block, Loc::Unknown), x).expect("a graph");
    let mut flow = Flow::default();
    flow.set(x, Range::both(Enclosure::new(lo, hi)), 0.0);
    for op in body.walk() {
        flow.step(&body, op);
    }
    Bound { range: flow.range(value), error: flow.error(value), mixed: flow.relative(value) }
}

fn ap(b: &mut Builder<'_>, name: &str, operands: &[Value]) -> Result<Value, String> {
    b.emit(name, operands, AttrDict::EMPTY)
}

fn one(b: &mut Builder<'_>, format: Format) -> Result<Value, String> {
    b.constant(Attr::Float(1.0, Type::float(format)))
}

const U64: f64 = f64::EPSILON / 2.0;

#[test]
fn cured_cancellation_of_roots() {
    let roots = |b: &mut Builder<'_>, x| {
        let one = one(b, Format::F64)?;
        let above = ap(b, "ng.add", &[x, one])?;
        Ok::<_, String>([ap(b, "ng.sqrt", &[above])?, ap(b, "ng.sqrt", &[x])?])
    };
    let range = (1.0, 1e6);
    let naive = bound(&[], Format::F64, range, &|b, x| {
        let roots = roots(b, x)?;
        ap(b, "ng.sub", &roots)
    });
    let cured = bound(&[], Format::F64, range, &|b, x| {
        let roots = roots(b, x)?;
        let sum = ap(b, "ng.add", &roots)?;
        ap(b, "ng.reciprocal", &[sum])
    });
    // u/2 of the sum under the root, then u of the root, of the sum of roots and of the reciprocal.
    assert!(cured.relative(0.0) < 3.6 * U64, "{:e}", cured.relative(0.0));
    // The difference is 5e-4 at least.
    assert!(naive.relative(4.9e-4) > 1e5 * cured.relative(4.9e-4), "{:e}", naive.relative(4.9e-4));
}

#[test]
fn probabilities_have_relative_errors() {
    for n in [10, 1000] {
        let p = bound(&[n], Format::F32, (-80.0, 80.0), &|b, x| ap(b, "ng.softmax", &[x]));
        let relative = p.relative(Format::F32.min_normal());
        let u = Format::F32.unit_roundoff();
        // A difference of 160 is off by 128 u, which the exponential makes relative, of each term and of the sum. Half
        // the least number is u of the least normal one; a term and the quotient may underflow.
        assert!(
            relative < (2.0 * 128.0 + n as f64 + 6.0) * u,
            "{n}: {relative:e} {:?} {:?}",
            p.mixed,
            p.range
        );
        assert!(relative > 128.0 * u);
    }
}

#[test]
fn exponentials_of_the_large_and_negative() {
    let e = bound(&[], Format::F64, (0.0, 80.0), &|b, x| {
        let y = ap(b, "ng.neg", &[x])?;
        ap(b, "ng.exp", &[y])
    });
    assert_eq!(e.mixed, Mixed::relative(U64));
    assert!(e.error <= U64);
}

#[test]
fn factors_of_any_size() {
    // The absolute error over the least magnitude would be 1e96 times this.
    let p = bound(&[], Format::F64, (1e-6, 1e6), &|b, x| {
        let mut y = x;
        for _ in 0..15 {
            y = ap(b, "ng.mul", &[y, x])?;
        }
        Ok(y)
    });
    assert!(p.relative(0.0) < 15.01 * U64, "{:?}", p.mixed);
    assert!(p.error > 1e79);
}

#[test]
fn logarithms_and_exponentials_near_their_zeros() {
    let range = (0.0, 1e-3);
    let log1p = bound(&[], Format::F64, range, &|b, x| ap(b, "ng.log1p", &[x]));
    let naive = bound(&[], Format::F64, range, &|b, x| {
        let one = one(b, Format::F64)?;
        let above = ap(b, "ng.add", &[x, one])?;
        ap(b, "ng.log", &[above])
    });
    let expm1 = bound(&[], Format::F64, range, &|b, x| ap(b, "ng.expm1", &[x]));
    let difference = bound(&[], Format::F64, range, &|b, x| {
        let one = one(b, Format::F64)?;
        let exp = ap(b, "ng.exp", &[x])?;
        ap(b, "ng.sub", &[exp, one])
    });
    let floor = 1e-12;
    for (good, bad) in [(log1p, naive), (expm1, difference)] {
        assert!(good.relative(floor) < 1.01 * U64, "{:?}", good.mixed);
        assert!(bad.relative(floor) > 1e11 * U64, "{:?}", bad.mixed);
        assert!(bad.relative(floor).is_finite());
        // No floor, no relative bound of what cancels.
        assert_eq!(bad.relative(0.0), f64::INFINITY);
    }
    // Behind another rounding the condition number of log1p and expm1 is 1.
    for op in ["ng.log1p", "ng.expm1", "ng.tanh", "ng.sinh", "ng.atan"] {
        let behind = bound(&[], Format::F64, (1e-9, 0.5), &|b, x| {
            let y = ap(b, "ng.mul", &[x, x])?;
            ap(b, op, &[y])
        });
        assert!(behind.relative(0.0) < 2.6 * U64, "{op} {:?}", behind.mixed);
    }
}

#[test]
fn sums_of_one_sign_and_means_keep_relative_errors() {
    let sum = |b: &mut Builder<'_>, name: &str, x| {
        let squares = ap(b, "ng.mul", &[x, x])?;
        b.emit(name, &[squares], AttrDict::from([("axes", Attr::ints([0]))]))
    };
    let all = bound(&[100], Format::F64, (1e-60, 1e60), &|b, x| sum(b, "ng.reduce_sum", x));
    assert!(all.relative(0.0) < 100.01 * U64, "{:?}", all.mixed);
    let mean = bound(&[100], Format::F64, (1e-60, 1e60), &|b, x| sum(b, "ng.reduce_mean", x));
    assert!(mean.relative(0.0) < 101.01 * U64, "{:?}", mean.mixed);
    let inner = bound(&[100], Format::F64, (1e-60, 1e60), &|b, x| {
        let root = ap(b, "ng.sqrt", &[x])?;
        ap(b, "ng.matmul", &[root, x])
    });
    assert!(inner.relative(0.0) < 101.01 * U64, "{:?}", inner.mixed);
    let norm = bound(&[100], Format::F64, (1e-60, 1e60), &|b, x| {
        let root = ap(b, "ng.sqrt", &[x])?;
        ap(b, "ng.norm", &[root])
    });
    assert!(norm.relative(1e-40) < 120.0 * U64, "{:?}", norm.mixed);
}

#[test]
fn formulas_by_their_steps() {
    // sigmoid(x) = 1 / (1 + exp(-x)) of an argument with an absolute error: the error is relative for any x.
    let shifted = bound(&[], Format::F64, (-300.0, -2.0), &|b, x| {
        let one = one(b, Format::F64)?;
        let y = ap(b, "ng.add", &[x, one])?;
        ap(b, "ng.sigmoid", &[y])
    });
    assert!(shifted.relative(0.0) < 258.0 * U64, "{:?}", shifted.mixed);
    let hypot = bound(&[], Format::F64, (1e-100, 1e100), &|b, x| {
        let y = ap(b, "ng.mul", &[x, x])?;
        ap(b, "ng.hypot", &[x, y])
    });
    assert!(hypot.relative(0.0) < 2.01 * U64, "{:?}", hypot.mixed);
}
