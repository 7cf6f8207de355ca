//! Coefficients are the best there are, and their errors what a second program encloses.

use std::path::Path;
use std::process::Command;

use ngc_ir::Sources;
use ngc_math::fit::{certify, renew, sollya};
use ngc_math::text::{Text, parse};

fn read(text: &str) -> Vec<Text> {
    let mut sources = Sources::new();
    let file = sources.add("f.impl", text, 1);
    parse(text, file).unwrap_or_else(|d| panic!("{}", d.message))
}

fn renewed(directive: &str, statement: &str) -> (String, f64) {
    let text = format!("impl exp(float x) {{\n{directive}\n{statement} -> r\nret r }}");
    let found = renew(&read(&text)[0]).unwrap_or_else(|d| panic!("{}", d.message));
    (found[0].text.clone(), found[0].error.unwrap_or(0.0))
}

/// The best polynomials of degree 1 of e^x and of degree 2 of |x| are known in closed form.
#[test]
fn the_best_polynomial_is_found() {
    let (_, error) = renewed("//! fit f64 exp(x) on [0, 1], absolute", "poly[0: 1, 1: 1] x");
    // Half of the largest distance of the curve from its chord.
    let slope = std::f64::consts::E - 1.0;
    let best = (1.0 + slope * slope.ln() - slope) / 2.0;
    // Found at points, so a little less than the largest.
    assert!(error <= best && error > 0.999 * best, "{error} and {best}");
    let (text, error) = renewed("//! fit f64 abs(x) on [0, 1], absolute", "poly[0: 1, 2: 1] x");
    assert!((error - 0.125).abs() < 1e-3, "{error}: {text}");
}

#[test]
fn coefficients_are_numbers_of_their_format() {
    let (text, error) =
        renewed("//! fit f32 exp(x) on [-0.35, 0.35], keep 0", "poly[0: 1, 1: 1, 2: 1, 3: 1] x");
    let factors = text.trim_start_matches("poly[").trim_end_matches(']').split(", ");
    for factor in factors.map(|term| term.split(": ").nth(1).expect("a factor")) {
        let value: f64 = factor.parse().expect("a number");
        assert_eq!(
            f64::from(value as f32).to_bits(),
            f64::from(factor.parse::<f32>().expect("a number")).to_bits()
        );
    }
    assert!(text.starts_with("poly[0: 1, 1: ") && error < 1e-3, "{text}: {error}");
}

#[test]
fn values_of_tables() {
    let (text, _) = renewed("//! values f64 (1 + i)/2 for i < 3", "table[1] 0");
    assert_eq!(text, "table[f64, 0.5, 1.0, 1.5]");
}

/// The largest errors found lie in the intervals of Sollya's `supnorm`, which are proven.
#[test]
fn errors_are_those_that_sollya_encloses() {
    if Command::new("sollya").arg("--version").output().is_err() {
        eprintln!("sollya is not installed: errors of polynomials are not compared");
        return;
    }
    for name in ["exp", "exp2", "expm1", "log", "log2", "sin", "atan", "asin", "sinh", "cbrt"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("library").join(format!("{name}.impl"));
        let text = std::fs::read_to_string(path).expect("an implementation");
        let texts = read(&text);
        let found: Vec<f64> = renew(&texts[0])
            .unwrap_or_else(|d| panic!("{}", d.message))
            .iter()
            .filter(|r| r.text.starts_with("poly"))
            .map(|r| r.error.expect("an error"))
            .collect();
        let script = sollya::script(&texts).unwrap_or_else(|d| panic!("{}", d.message));
        let file = std::env::temp_dir().join(format!(
            "ngc-{}-{}.sollya",
            std::process::id(),
            name.replace('/', "-")
        ));
        std::fs::write(&file, script).expect("a script");
        let output = Command::new("sollya").arg(&file).output().expect("sollya runs");
        let _ = std::fs::remove_file(&file);
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let intervals: Vec<(f64, f64)> = output
            .lines()
            .filter_map(|line| line.trim().strip_prefix('[')?.strip_suffix(']')?.split_once(';'))
            .map(|(a, b)| (a.parse().expect("a number"), b.parse().expect("a number")))
            .collect();
        assert_eq!(intervals.len(), found.len(), "{name}: {output}");
        for (error, (low, high)) in found.into_iter().zip(intervals) {
            // Found at points, so a little less than the largest; never more.
            assert!(error <= high && error >= 0.98 * low, "{name}: {error} is not in [{low}, {high}]");
        }
    }
}

/// Bounds by Taylor series hold what was found at points between them, and lie near each other; another program encloses the same.
#[test]
fn errors_are_bounded_for_certain() {
    let sollya_is_here = Command::new("sollya").arg("--version").output().is_ok();
    if !sollya_is_here {
        eprintln!("sollya is not installed: certain bounds are not compared");
    }
    for name in ["exp", "exp2", "expm1", "log", "log2", "sin", "cos", "sinh"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("library").join(format!("{name}.impl"));
        let text = std::fs::read_to_string(path).expect("an implementation");
        let texts = read(&text);
        let found = renew(&texts[0]).unwrap_or_else(|d| panic!("{}", d.message));
        let found: Vec<f64> =
            found.iter().filter(|r| r.text.starts_with("poly")).filter_map(|r| r.error).collect();
        let certified = certify(&texts[0]).unwrap_or_else(|d| panic!("{}", d.message));
        assert_eq!(found.len(), certified.len(), "{name}");
        let bounds: Vec<(f64, f64)> =
            certified.iter().map(|c| c.error.unwrap_or_else(|| panic!("{name} is not bounded"))).collect();
        for (found, (taken, bound)) in found.iter().zip(&bounds) {
            println!("{name}: found {found:e}, taken {taken:e}, bound {bound:e}");
            assert!(
                found <= bound && bound <= &(1.05 * found.max(*taken)),
                "{name}: {found:e} {taken:e} {bound:e}"
            );
        }
        if !sollya_is_here {
            continue;
        }
        let script = sollya::script(&texts).unwrap_or_else(|d| panic!("{}", d.message));
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("bounds.sollya");
        std::fs::write(&file, script).expect("a script");
        let output = Command::new("sollya").arg(&file).output().expect("sollya runs");
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let enclosed =
            output.lines().filter_map(|l| l.trim().strip_prefix('[')?.strip_suffix(']')?.split_once(';'));
        let enclosed: Vec<(f64, f64)> =
            enclosed.map(|(a, b)| (a.parse().expect("a number"), b.parse().expect("a number"))).collect();
        assert_eq!(enclosed.len(), bounds.len(), "{name}: {output}");
        for ((taken, bound), (low, high)) in bounds.iter().zip(enclosed) {
            // Digits that Sollya prints are rounded.
            let hair = 1e-4;
            assert!(
                *taken <= high * (1.0 + hair) && *bound >= low * (1.0 - hair),
                "{name}: {taken:e} {bound:e} {low:e} {high:e}"
            );
        }
    }
}
