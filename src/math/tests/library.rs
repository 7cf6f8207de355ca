//! The library: every implementation has a fresh certificate, gives in C99 what it does in the interpreter, and is as near to
//! its function as the certificate says.

use std::path::{Path, PathBuf};

use ngc_math::certificate;
use ngc_math::function::symbol;
use ngc_math::reference::Reference;
use rayon::prelude::*;

use crate::machine::{blocks, checked, interpreted, same_in_c};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("src/math/library"))
        .expect("the library")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "impl"))
        .collect();
    files.sort();
    assert!(files.len() >= 20, "{} implementations", files.len());
    files
}

fn certificate_path(name: &str) -> PathBuf {
    root().join("testdata/certificates/math").join(format!("{name}.json"))
}

/// A number of a certificate.
fn field<'t>(certificate: &'t str, name: &str) -> &'t str {
    let (_, rest) =
        certificate.split_once(&format!("\"{name}\": ")).unwrap_or_else(|| panic!("no field {name}"));
    rest.split(['\n', ',']).next().unwrap_or("").trim_matches('"')
}

#[test]
fn implementations_are_what_their_certificates_say() {
    let wrong: Vec<String> = files().par_iter().flat_map(|path| check_one(path).err()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn check_one(path: &Path) -> Result<(), String> {
    let context = ngc_dialects::context();
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let (texts, checked) = checked(&context, &text);
    let name = symbol(&texts[0]);
    let command = format!("ngc-math verify {} --certificate testdata/certificates/math", path.display());
    let certificate = std::fs::read_to_string(certificate_path(&name))
        .map_err(|_| format!("{name} has no certificate: {command}"))?;
    let digest = certificate::digest(&checked, &texts[0]).map_err(|d| d.message)?;
    if field(&certificate, "code") != digest {
        return Err(format!("the certificate of {name} is of other code: {command}"));
    }
    let number = |name: &str| field(&certificate, name).parse::<f64>().map_err(|e| format!("{name}: {e}"));
    let (max, at) = (number("max_ulp")?, number("at")?);
    let reference = Reference::of(&context, &texts[0]).map_err(|d| d.message)?;
    let y = interpreted(&context, &texts, &[at as f32])[0];
    let error = reference.exact_error(at, f64::from(y)).unwrap_or(f64::NAN);
    let exact = field(&certificate, "established").starts_with("exhaustive");
    if !(max < 1.0 && (error - max).abs() < 1e-9) {
        return Err(format!("{name}({at:?}) is {error} ulp off, and the certificate says {max}"));
    }
    for (x, y) in same_in_c(&context, &texts, &checked, &blocks(512, 32)) {
        let (x, y) = (f64::from(x), f64::from(y));
        match reference.exact_error(x, y) {
            Some(error) if error <= if exact { max } else { 1.0 } => {}
            Some(error) => return Err(format!("{name}({x:?}) = {y:?} is {error} ulp off, above {max}")),
            None => {
                let want = reference.round(x);
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

/// The page of the library, from the implementations and their certificates.
fn page() -> String {
    let context = ngc_dialects::context();
    let mut page = String::from(INTRODUCTION);
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("an implementation");
        let (texts, _) = checked(&context, &text);
        let name = symbol(&texts[0]);
        let certificate = std::fs::read_to_string(certificate_path(&name)).unwrap_or_default();
        if certificate.is_empty() {
            continue;
        }
        let number = |name: &str| field(&certificate, name).parse::<f64>().expect("a number");
        let misrounded = field(&certificate, "misrounded");
        let at = number("at") as f32;
        let inputs =
            if field(&certificate, "established").starts_with("exhaustive") { "all" } else { "a sample" };
        let max = number("max_ulp");
        page += &format!("| `{name}` | {max:.7} | `{at:?}` | {misrounded} | {inputs} | {} |\n", texts[0].doc);
    }
    page
}

const INTRODUCTION: &str = "\
# Functions of the library

Written from `src/math/library` and `testdata/certificates/math`; `NGC_BLESS=1 cargo test -p ngc-math` renews this page.

Each is an implementation in numerical assembly (`grammar/impl.pest`). Errors are in units in the last place of the exact value,
measured with MPFR where `f64` does not decide; NaN, infinities, zeros and their signs are right for all inputs that were looked
at, and neighbours are in the right order. Where these are all 2^32, the error is exact; that of a sample is an estimate.
`ngc-math verify FILE` measures again, `ngc-math emit FILE` writes C99.

| function | max error, ulp | at | results that are not the correctly rounded ones | inputs | how |
|---|---|---|---|---|---|
";

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
