//! Bounds that are certain: no result is farther off, they are near the largest errors where all inputs can be looked at, and what is wrong
//! in an implementation shows in them.

use std::path::{Path, PathBuf};

use ngc_math::certificate::{self, field};
use ngc_math::function::{format_of, symbol};
use ngc_math::reference::Reference;
use ngc_math::verify::certain::{Asked, Certain, certain, questions};
use ngc_math::verify::{Compiler, Inputs, verify};
use ngc_numerics::Random;
use rayon::prelude::*;

use crate::evidence;
use crate::library::STEP;
use crate::machine::{checked, interpreted};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn library(folder: &str, name: &str) -> String {
    let path = root().join("src/math/library").join(folder).join(format!("{name}.impl"));
    std::fs::read_to_string(path).expect("an implementation")
}

fn bound(text: &str, range: (f64, f64), goal: f64) -> Certain {
    let context = ngc_dialects::context();
    let (texts, checked) = checked(&context, text);
    let asked = Asked { range, least: 0.0, goal, chunks: 1, most_parts: 4000 };
    certain(&context, &checked, &texts[0], &asked, &|_, _| ()).unwrap_or_else(|d| panic!("{}", d.message))
}

/// The largest error of numbers in a range.
fn sampled(text: &str, (from, to): (f64, f64), seed: u64) -> f64 {
    let context = ngc_dialects::context();
    let (texts, _) = checked(&context, text);
    let reference = Reference::of(&context, &texts[0]).expect("a function");
    let mut r = Random::new(seed);
    let format = format_of(&texts[0]);
    let unit = |r: &mut Random| (r.bits() >> 11) as f64 / 2f64.powi(53);
    let mut x: Vec<f64> = (0..96).map(|_| format.round(from + unit(&mut r) * (to - from))).collect();
    x.extend([format.round(from), format.round(to)]);
    x.retain(|&x| x >= from && x <= to && x != 0.0);
    let y = interpreted(&context, &texts, &x);
    x.iter()
        .zip(y)
        .filter_map(|(&x, y)| reference.exact_error(x, y))
        .filter(|e| e.is_finite())
        .fold(0.0, f64::max)
}

/// Implementations of one number, with their folders.
fn implementations() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for folder in ["", "faithful", "double"] {
        let files = std::fs::read_dir(root().join("src/math/library").join(folder)).expect("the library");
        for path in files
            .map(|entry| entry.expect("an entry").path())
            .filter(|p| p.extension().is_some_and(|e| e == "impl"))
        {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("an implementation");
            let (texts, _) = checked(&ngc_dialects::context(), &text);
            let reference = Reference::of(&ngc_dialects::context(), &texts[0]).expect("a function");
            if texts[0].arguments.len() == 1 && reference.formula().is_some() {
                all.push((folder.to_string(), name));
            }
        }
    }
    all.sort();
    all
}

/// Short ranges of ordinary numbers and of any, of which each has its own bound.
#[test]
fn no_result_is_farther_off() {
    let all = implementations();
    assert!(all.len() > 80, "{} implementations", all.len());
    let (seed, all) = (evidence::seed(), evidence::sampled("implementations", STEP, all));
    let proven: usize = all
        .par_iter()
        .enumerate()
        .map(|(n, (folder, name))| {
            let text = library(folder, name);
            let mut r = Random::new(seed ^ (n as u64) << 20);
            let mut proven = 0;
            let widest = if folder == "double" { 900 } else { 120 };
            for exponents in [8, 8, 8, widest] {
                let exponent = (r.bits() % (2 * exponents)) as i32 - exponents as i32;
                let start = (1.0 + (r.bits() >> 12) as f64 / 2f64.powi(52)) * 2f64.powi(exponent);
                let width = 2f64.powi(-2 - (r.bits() % 30) as i32);
                let (a, b) = (start, start * (1.0 + width));
                let range = if r.bits() & 1 == 0 { (a, b) } else { (-b, -a) };
                let found = bound(&text, range, f64::MAX);
                if !found.open.is_empty() || found.parts == 0 {
                    continue;
                }
                let error = sampled(&text, range, r.bits());
                // Sizes of errors are measured in 160 bits, of which a result that is nearly right leaves few.
                let most = found.bound * (1.0 + 1e-9) + 1e-12;
                assert!(error <= most, "{folder}/{name} in {range:?}: {error} above {}", found.bound);
                proven += 1;
            }
            proven
        })
        .sum();
    // Of some nothing is certain: arguments in which whole turns are counted by millions, functions without a series.
    assert!(proven > 2 * all.len(), "{proven} bounds of {} implementations", all.len());
}

/// On a binade every number of f32 is looked at.
#[test]
fn bounds_are_near_the_largest_errors() {
    let context = ngc_dialects::context();
    for (folder, name, from, to) in [
        ("faithful", "exp", 1.0, 2.0),
        ("faithful", "log", 1.5, 3.0),
        ("faithful", "sin", 0.5, 1.5),
        ("faithful", "atan", 0.5, 1.0),
        ("", "log2", 2.0, 4.0),
        ("", "tanh", 0.25, 0.5),
    ] {
        let text = library(folder, name);
        let (texts, checked) = checked(&context, &text);
        let inputs = Inputs::Between { from: from as f32, to: to as f32, sample: None };
        let report = verify(&context, &checked, &texts[0], inputs, &Compiler::default(), &|_, _| ());
        let largest = report.unwrap_or_else(|d| panic!("{}", d.message)).max_ulp;
        let found = bound(&text, (from, to), 1.15 * largest);
        assert!(found.open.is_empty(), "{name}: {found}");
        assert!(
            largest <= found.bound && found.bound <= 1.25 * largest,
            "{name}: {largest} and {}",
            found.bound
        );
    }
}

/// A coefficient, an entry of a table and a bound of a branch that are wrong by little.
#[test]
fn what_is_wrong_shows() {
    let exp = library("double", "exp");
    let is_proven = |found: &Certain| found.bound < 1.0 && found.open.is_empty();
    let right = bound(&exp, (1.0, 1.25), 1.0);
    assert!(is_proven(&right), "{right}");
    let faults = [
        ("0.1666666666440176", "0.1666666667440176"),
        ("1.2537167179050217e-16", "1.2537167179050217e-15"),
        ("min x 710", "min x 1.125"),
        ("-0.04332169878499658", "-0.043321698784996"),
    ];
    for (right, wrong) in evidence::sampled("implementations", 2, faults) {
        let text = exp.replace(right, wrong);
        assert_ne!(text, exp);
        let found = bound(&text, (1.0, 1.25), 1.0);
        let error = sampled(&text, (1.0, 1.25), 3);
        assert!(!is_proven(&found), "{wrong}: {found}");
        assert!(
            error > 1.0 && (found.bound >= error || !found.open.is_empty()),
            "{wrong}: {found}, and {error} was found"
        );
    }
}

/// Programs that look right where one forgets NaN, the sign of a zero, how coarse subnormal numbers are, or how far a power of two goes:
/// what a bound says of each is above the errors that there are.
#[test]
fn corners_of_the_format_are_not_forgotten() {
    let softsign = |core: &str| {
        format!("impl softsign(double x) {{\nabs x -> m\nadd m 1 -> d\ndiv x d -> q\n{core}\nret result\n}}")
    };
    let programs = [
        (softsign("mul x 1e308 -> a\nsub a a -> v\ncompare[LE] v inf -> ok\nwhere ok q 7 -> result"), (2.0, 3.0)),
        (softsign("mul x 1e308 -> a\nsub a a -> v\nmax v inf -> w\ndiv 1 w -> z\nadd q z -> result"), (2.0, 3.0)),
        (softsign("sub x x -> n\ndiv n n -> v\nexponent v -> k\nmax k 1 -> one\nmul q one -> result"), (2.0, 3.0)),
        (
            softsign(
                "mul x 0 -> z0\nneg z0 -> z1\nmin z0 z1 -> z\nbitcast[i64] q -> qb\nbitcast[i64] z -> zb\n\
                 andi zb 0x8000000000000000 -> s\nori qb s -> rb\nbitcast[f64] rb -> result",
            ),
            (2.0, 3.0),
        ),
        ("impl silu(double x) {\nmul x 4.440892098500627e-16 -> a\nmul a 1125899906842624 -> r\nret r\n}".into(), (1e-300, 2e-300)),
        ("impl silu(float x) {\nmul x 5.9604652e-8 -> a\nmul a 8388608 -> r\nret r\n}".into(), (1e-34, 2e-34)),
        ("impl softsign(double x) {\ntwo_sum x 1.7976931348623157e308 -> h l\nadd l -1 -> r\nret r\n}".into(), (-3e292, -2.9e292)),
        (
            "impl softsign(double x) {\nbitcast[i64] x -> b\nsub 0x7fe0000000000000 b -> c\nbitcast[f64] c -> y\n\
             mul y 7.15972597961874e+249 -> z\nfma z 9.313225746154785e-10 1 -> s\nsub s 1.0000000008847565 -> t\n\
             fma t 1 1 -> r\nret r\n}"
                .into(),
            (7.875e249, 7.9e249),
        ),
    ];
    for (text, range) in programs {
        let found = bound(&text, range, 1e12);
        let error = sampled(&text, range, 11);
        assert!(found.bound >= error || !found.open.is_empty(), "{text}\n{found}, and {error} was found");
    }
}

#[test]
fn what_is_not_followed_is_said() {
    let text = "impl sqrt(double x) {\n sqrt x -> y\n bitcast[i64] y -> b\n andi b -134217728 -> cut\n \
                bitcast[f64] cut -> high\n sub y high -> low\n add high low -> r\n ret r\n}";
    let found = bound(text, (1.0, 1.25), 1.0);
    assert!(found.open.len() == 1 && found.open[0].1.contains("parts"), "{found}");
}

#[test]
fn questions_are_about_decided_parts() {
    let context = ngc_dialects::context();
    let (texts, checked) = checked(&context, &library("double", "exp"));
    let all =
        questions(&context, &checked, &texts[0], (1.0, 1.125)).unwrap_or_else(|d| panic!("{}", d.message));
    // 16 parts between powers of two.
    assert_eq!(all.len(), 4, "{}", all.join("\n"));
    assert!(
        all.iter()
            .all(|q| q.contains("float64 x in") && q.contains("rnd64 = fma") && !q.contains("rnd64 = ;"))
    );
    let far = questions(&context, &checked, &texts[0], (f64::MIN, f64::MAX));
    assert!(far.is_err_and(|d| d.message.contains("shorter range")));
}

/// What is certain was found of the code that is there, is not below what a sample has found, and is found again on short ranges.
#[test]
fn certificates_hold() {
    let context = ngc_dialects::context();
    let mut count = 0;
    for (folder, name) in implementations() {
        let text = library(&folder, &name);
        let (texts, checked) = checked(&context, &text);
        let path = root().join("testdata/certificates/math").join(&folder);
        let read = |name: String| std::fs::read_to_string(path.join(name)).ok();
        let symbol = symbol(&texts[0]);
        let Some(said) = read(format!("{symbol}.certain.json")) else { continue };
        let sample = read(format!("{symbol}.json")).expect("a certificate");
        let number = |text: &str, name: &str| field(text, name).and_then(|x| x.parse::<f64>().ok());
        let digest = certificate::digest(&checked, &texts[0]).unwrap_or_else(|d| panic!("{}", d.message));
        assert_eq!(field(&said, "code"), Some(digest.as_str()), "{symbol}: the certificate is of other code");
        let (bound, goal) =
            (number(&said, "bound").expect("a bound"), number(&said, "goal").expect("a goal"));
        let (from, to) = (number(&said, "from").unwrap_or(f64::MIN), number(&said, "to").unwrap_or(f64::MAX));
        let (largest, at) = (number(&sample, "max_ulp"), number(&sample, "at").expect("a place"));
        assert!(
            at < from || at > to || largest.is_some_and(|largest| largest <= bound),
            "{symbol}: {bound} and {largest:?}"
        );
        // Where the worst is, and where the sample has its worst.
        let worst = number(&said, "worst").expect("a place");
        for x in [worst, at].into_iter().filter(|&x| x >= from && x <= to) {
            let range = (x - x.abs() * 2f64.powi(-9), x + x.abs() * 2f64.powi(-9));
            let asked = Asked { range, least: 0.0, goal, chunks: 1, most_parts: 4000 };
            let found = certain(&context, &checked, &texts[0], &asked, &|_, _| ());
            let found = found.unwrap_or_else(|d| panic!("{}", d.message));
            assert!(
                found.bound < bound.max(goal) * 1.1 && found.open.is_empty(),
                "{symbol} beside {x:?}: {found}"
            );
        }
        count += 1;
    }
    assert!(count >= 20, "{count} certificates");
}
