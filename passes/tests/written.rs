//! Naive programs as files, for scripts that run them elsewhere.

use std::fs;

use crate::support::{naive, parse};
use ngc_numerics::Random;

/// Extents of the values, rows and columns.
const EXTENTS: [usize; 2] = [64, 48];

#[test]
#[ignore = "writes files: NGC_WRITE_PROGRAMS=FOLDER cargo test -p ngc-passes --test all written:: -- --ignored"]
fn programs_are_written() {
    let folder = std::env::var("NGC_WRITE_PROGRAMS").expect("NGC_WRITE_PROGRAMS names a folder");
    fs::create_dir_all(&folder).expect("a folder");
    let mut r = Random::new(2207);
    for n in 0..400 {
        let ranges =
            [0; 2].map(|_| r.pick(&[(-8.0, 8.0), (0.0, 1.0), (0.5, 4.0), (-1e-3, 1e-3), (-80.0, 80.0)]));
        let text = naive::draw_of(&mut r, ranges, 3, naive::IDIOMS);
        let [rows, columns] = naive::SHAPE;
        let text = text
            .replace(&format!("tensor<{rows}x{columns}x"), &format!("tensor<{}x{}x", EXTENTS[0], EXTENTS[1]))
            .replace(&format!("tensor<{rows}x1x"), &format!("tensor<{}x1x", EXTENTS[0]));
        let text = if r.chance(30) { text.replace("f32", "f16") } else { text };
        parse(&text);
        fs::write(format!("{folder}/program-{n:03}.ngir"), text).expect("a file");
    }
}
