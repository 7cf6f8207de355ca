//! The library: every implementation has a fresh certificate, gives in C99 what it does in the interpreter, and is as near to
//! its function as the certificate says.

use std::path::{Path, PathBuf};

use ngc_math::certificate::{self, field};
use ngc_math::check::Checked;
use ngc_math::function::{format_of, symbol};
use ngc_math::library::ENTRIES;
use ngc_math::reference::Reference;
use ngc_math::text::Text;
use ngc_math::verify::pairs;
use ngc_numerics::Format;
use rayon::prelude::*;

use crate::evidence;
use crate::machine::{blocks, checked, interpreted, interpreted_at, same_in_c, same_in_c_at};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Folders of implementations, and of their certificates.
const FOLDERS: [[&str; 2]; 3] = [
    ["src/math/library", "testdata/certificates/math"],
    ["src/math/library/faithful", "testdata/certificates/math/faithful"],
    ["src/math/library/double", "testdata/certificates/math/double"],
];

/// Of so many implementations one is looked at where the certificate of all is fresh.
pub const STEP: usize = 8;

fn files([implementations, _]: [&str; 2]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join(implementations))
        .expect("the library")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "impl"))
        .collect();
    files.sort();
    assert!(files.len() >= 16, "{} implementations", files.len());
    files
}

fn certificate_of(name: &str, [_, certificates]: [&str; 2]) -> Option<String> {
    std::fs::read_to_string(root().join(certificates).join(format!("{name}.json"))).ok()
}

/// A field that every certificate has.
fn said<'t>(certificate: &'t str, name: &str) -> &'t str {
    field(certificate, name).unwrap_or_else(|| panic!("no field {name}"))
}

#[test]
fn implementations_are_what_their_certificates_say() {
    let all: Vec<_> = FOLDERS.into_iter().flat_map(|f| files(f).into_iter().map(move |p| (p, f))).collect();
    assert_eq!(all.len(), ENTRIES.len(), "implementations that are not in the library");
    let read: Vec<_> = all.par_iter().map(|(path, f)| certified(path, *f)).collect();
    let other: Vec<&str> = read.iter().filter_map(|found| found.as_ref().err()).map(String::as_str).collect();
    assert!(other.is_empty(), "\n{}", other.join("\n"));
    let all = evidence::sampled("implementations", STEP, read.iter().flatten());
    let wrong: Vec<String> = all.par_iter().flat_map(|found| check_one(found).err()).collect();
    println!("certificate: {} implementations are what their certificates say", all.len());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// An implementation and its certificate.
struct Certified {
    texts: Vec<Text>,
    checked: Checked,
    certificate: String,
}

/// Reads an implementation and its certificate, which must be of its code.
fn certified(path: &Path, folders: [&str; 2]) -> Result<Certified, String> {
    let context = ngc_dialects::context();
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let (texts, checked) = checked(&context, &text);
    let name = symbol(&texts[0]);
    let command = format!("ngc-math verify {} --certificate {}", path.display(), folders[1]);
    let certificate =
        certificate_of(&name, folders).ok_or_else(|| format!("{name} has no certificate: {command}"))?;
    let digest = certificate::digest(&checked, &texts[0]).map_err(|d| d.message)?;
    if said(&certificate, "code") != digest {
        return Err(format!("the certificate of {name} is of other code: {command}"));
    }
    Ok(Certified { texts, checked, certificate })
}

fn check_one(Certified { texts, checked, certificate }: &Certified) -> Result<(), String> {
    let (context, name) = (ngc_dialects::context(), symbol(&texts[0]));
    let number = |name: &str| said(certificate, name).parse::<f64>().map_err(|e| format!("{name}: {e}"));
    let (max, at) = (number("max_ulp")?, number("at")?);
    let reference = Reference::of(&context, &texts[0]).map_err(|d| d.message)?;
    let mut place = vec![at];
    if texts[0].arguments.len() == 2 {
        place.push(number("beside")?);
    }
    let columns: Vec<Vec<f64>> = place.iter().map(|&x| vec![x]).collect();
    let y = interpreted_at(&context, texts, &columns)[0];
    let error = reference.exact_error_at(&place, y).unwrap_or(f64::NAN);
    let exact = said(certificate, "established").starts_with("exhaustive");
    if !(max < 1.0 && (error - max).abs() < 1e-9) {
        return Err(format!("{name}({at:?}) is {error} ulp off, and the certificate says {max}"));
    }
    let format = format_of(&texts[0]);
    let count = if format == Format::F64 { 128 } else { 512 };
    let results: Vec<(Vec<f64>, f64)> = match place.len() {
        1 => same_in_c(&context, texts, checked, &blocks(format, count, 32))
            .into_iter()
            .map(|(x, y)| (vec![x], y))
            .collect(),
        _ => same_in_c_at(&context, texts, checked, &pairs(format, 1 << 14))
            .into_iter()
            .map(|(x, y)| (x.to_vec(), y))
            .collect(),
    };
    for (x, y) in results {
        match reference.exact_error_at(&x, y) {
            Some(error) if error <= if exact { max } else { 1.0 } => {}
            Some(error) => return Err(format!("{name}({x:?}) = {y:?} is {error} ulp off, above {max}")),
            None => {
                let want = reference.round_at(&x);
                let same = want.is_nan() && y.is_nan()
                    || want == y && want.is_sign_negative() == y.is_sign_negative();
                if !same {
                    return Err(format!("{name}({x:?}) = {y:?}, not {want:?}"));
                }
            }
        }
    }
    Ok(())
}

/// What is certain of an implementation.
fn certain(name: &str, folders: [&str; 2]) -> Option<String> {
    let certificate = certificate_of(&format!("{name}.certain"), folders)?;
    let bound: f64 = said(&certificate, "bound").parse().expect("a number");
    let end = |name: &str| field(&certificate, name).map(|x| x.parse::<f64>().expect("a number"));
    let shown = |x: f64| if x.fract() == 0.0 && x.abs() < 1e6 { format!("{x:.0}") } else { format!("{x:?}") };
    let within = match (end("from"), end("to")) {
        (Some(from), Some(to)) if from <= -1e300 => format!(" up to {}", shown(to)),
        (Some(from), Some(to)) if to >= 1e300 => format!(" from {}", shown(from)),
        (Some(from), Some(to)) => format!(" from {} to {}", shown(from), shown(to)),
        _ => String::new(),
    };
    let away =
        field(&certificate, "least").map_or(String::new(), |least| format!(", {least} or more away from 0"));
    Some(format!("{:.4}{within}{away}", (bound * 1e4).ceil() / 1e4))
}

/// The page of the library, from the implementations and their certificates.
fn page() -> String {
    let context = ngc_dialects::context();
    let mut page = String::from(INTRODUCTION);
    for (folders, kind) in FOLDERS.into_iter().zip(KINDS) {
        page += kind;
        page += HEADING;
        for path in files(folders) {
            let text = std::fs::read_to_string(&path).expect("an implementation");
            let (texts, _) = checked(&context, &text);
            let name = symbol(&texts[0]);
            let Some(certificate) = certificate_of(&name, folders) else { continue };
            let number = |name: &str| said(&certificate, name).parse::<f64>().expect("a number");
            let misrounded = said(&certificate, "misrounded");
            let shown = |x: f64| match format_of(&texts[0]) {
                Format::F32 => format!("{:?}", x as f32),
                _ => format!("{x:?}"),
            };
            let at = shown(number("at"));
            let beside = field(&certificate, "beside")
                .map_or(String::new(), |y| format!(", {}", shown(y.parse().expect("a number"))));
            let exact = said(&certificate, "established").starts_with("exhaustive");
            let inputs = if exact { "all" } else { "a sample" };
            let max = number("max_ulp");
            let certain = certain(&name, folders).unwrap_or_else(|| "-".into());
            page += &format!(
                "| `{name}` | {max:.7} | `{at}{beside}` | {misrounded} | {inputs} | {certain} | {} |\n",
                texts[0].doc
            );
        }
    }
    page += SPEED;
    page
}

const INTRODUCTION: &str = "\
# Functions of the library

Written from `src/math/library` and `testdata/certificates/math`; `NGC_BLESS=1 cargo test -p ngc-math` renews this page.

Each is an implementation in numerical assembly (`grammar/impl.pest`). Errors are in units in the last place of the exact value,
measured with MPFR where `f64` does not decide; NaN, infinities, zeros and their signs are right for all inputs that were looked
at, and neighbours are in the right order. Where these are all 2^32, the error is exact; that of a sample, as of f64 every one is, is an estimate.
Functions of two arguments are measured on pairs: special values with each other, all encodings, moderate and like sizes, bases near
1, powers near the ends of the format, exact ones and ties, the least and the greatest numbers, and pairs beside which the function
changes its sign, where what is left of a sum is least. lgamma and digamma are held to the same bound beside each of their zeros from
-40 on. *Certain* is a bound that no input exceeds, of those between the numbers beside it or else of all at which the function is a
number of the format below the greatest and other than 0: `ngc-math verify FILE --certain` cuts the inputs into parts on which all
integers, entries of tables and branches are decided, and bounds the roundings of what is left by Taylor forms and its distance from the
function by Taylor series. An implementation of a function with parameters, as selu, is of those that its op has where nothing is said.
`ngc-math verify FILE` measures again, `ngc-math emit FILE` writes C99. `ngc-compile` takes of the implementations of a function
the one with the largest error that is at most `--max-ulp`, by default 1: the nearer one is there because it costs more.
";

/// What each folder holds.
const KINDS: [&str; 3] = [
    "\n## Correctly rounded but for few inputs, in double precision\n",
    "\n## Faithful: less than 1 ulp off, for speed\n",
    "\n## Of f64, less than 1 ulp off\n",
];

const HEADING: &str = "
| function | max error, ulp | at | results that are not the correctly rounded ones | inputs | certain, ulp | how |
|---|---|---|---|---|---|---|
";

const SPEED: &str = "\nHow fast they are beside SLEEF's and Intel's is in [math-speed.md](math-speed.md).\n";

#[test]
fn the_page_of_the_library_is_current() {
    let path = root().join("docs/math.md");
    let page = page();
    if std::env::var_os("NGC_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/math.md can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/math.md is out of date; NGC_BLESS=1 cargo test -p ngc-math renews it");
}

/// Where the nearest multiple of a quarter turn is as near as it ever is to an f64 (Kahan), and at the greatest of them.
#[test]
fn large_numbers_are_reduced_exactly() {
    let context = ngc_dialects::context();
    for name in ["sin", "cos", "tan"] {
        let path = root().join(format!("src/math/library/double/{name}.impl"));
        let (texts, _) = checked(&context, &std::fs::read_to_string(path).expect("an implementation"));
        let reference = Reference::of(&context, &texts[0]).expect("a function");
        let x = [6381956970095103.0 * 2f64.powi(797), -f64::MAX, 2f64.powi(29), 1e9, 1e22, 2f64.powi(1023)];
        for (x, y) in x.into_iter().zip(interpreted(&context, &texts, &x)) {
            let error = reference.exact_error(x, y).expect("a number");
            assert!(error < 0.9, "{name}({x:e}) = {y} is {error} ulp off");
        }
    }
}

/// Between two poles log |Γ(x)| has up to two zeros and its slope has one; the numbers beside these are where most is lost.
#[test]
fn functions_of_gamma_are_right_beside_their_zeros() {
    let context = ngc_dialects::context();
    for name in ["lgamma", "digamma"] {
        let path = root().join(format!("src/math/library/{name}.impl"));
        let (texts, _) = checked(&context, &std::fs::read_to_string(path).expect("an implementation"));
        let reference = Reference::of(&context, &texts[0]).expect("a function");
        let x = zeros(&reference);
        assert!(x.len() > 1000, "{} numbers", x.len());
        for (x, y) in x.iter().copied().zip(interpreted(&context, &texts, &x)) {
            let error = reference.exact_error(x, y);
            assert!(error.is_none_or(|error| error < 0.51), "{name}({x:e}) = {y} is {error:?} ulp off");
        }
    }
}

/// Numbers of f32 beside zeros of a function, and beside its integers.
fn zeros(reference: &Reference) -> Vec<f64> {
    let sign = |x: f32| reference.exact(&[x.into()]).is_sign_positive();
    let mut found = Vec::new();
    for n in -40..3 {
        let points: Vec<f32> = (0..=64).map(|i| n as f32 + i as f32 / 64.0).collect();
        found.extend([points[0].next_up(), points[64].next_down()]);
        for ends in points.windows(2).map(|ends| [ends[0].next_up(), ends[1].next_down()]) {
            let [mut a, mut b] = ends;
            if sign(a) == sign(b) {
                continue;
            }
            while b > a.next_up() {
                let middle = 0.5 * (a + b);
                if sign(middle) == sign(a) { a = middle } else { b = middle }
            }
            found.push(a);
        }
    }
    let around = |x: f32| {
        let below = std::iter::successors(Some(x), |x| Some(x.next_down())).take(8);
        let above = std::iter::successors(Some(x), |x| Some(x.next_up())).take(8);
        below.chain(above).map(f64::from).collect::<Vec<f64>>()
    };
    found.into_iter().flat_map(around).collect()
}
