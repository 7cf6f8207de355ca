//! The table of file formats.

use ngc_tools::formats::{FORMATS, Format};

#[test]
fn every_format_has_one_row_and_endings_of_its_own() {
    for row in FORMATS {
        assert_eq!(row.format.row().name, row.name);
        assert_eq!(
            row.extensions.iter().filter(|e| Format::of_path(&format!("a.{e}")) == Some(row.format)).count(),
            row.extensions.len(),
            "{}",
            row.name
        );
    }
}

#[test]
fn names_are_guessed() {
    assert_eq!(Format::of_path("a/b.ONNX"), Some(Format::Onnx));
    assert_eq!(Format::of_path("f.stablehlo.mlir"), Some(Format::StableHlo));
    assert_eq!(Format::of_path("f.mlir"), Some(Format::Ngir));
    for none in ["-", "onnx", "a.onnx/x", "a.txt", ".", ""] {
        assert_eq!(Format::of_path(none), None, "{none}");
    }
}
