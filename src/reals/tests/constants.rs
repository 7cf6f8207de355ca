//! A mask is a test of the place, however it was made, and a counted sequence is the place.

use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Resources, Sources};
use ngc_reals::Store;
use ngc_reals::read::Reader;

const SIZE: i64 = 5;

/// Of a column and a row.
type Relation = fn(i64, i64) -> bool;

/// How the result of a function is read.
fn read(store: &mut Store, lines: &str, result: &str) -> String {
    let ty = "tensor<5x5xf32>";
    let text = format!("func.func @f(%x: {ty}) -> {ty} {{\n{lines}\n  func.return {result} : {ty}\n}}\n");
    let mut sources = Sources::new();
    let file = sources.add("test.ngir", text.as_str(), 1);
    let (context, resources) = (ngc_dialects::context(), Resources::default());
    let module = parse_module(&context, &sources, file, &ParseOptions::default())
        .unwrap_or_else(|e| panic!("{text}\n{e:?}"));
    let func = module.symbol("f").expect("the function");
    let body = module.body.body(func).expect("it has a body");
    let readings = Reader::new(store, &context, &resources).body(body, &[]);
    let end = body.ops(body.entry().expect("a block")).last().expect("a return");
    store.show(&readings[&body.operands(end)[0]].element)
}

/// A constant whose element at row i and column j is given.
fn dense(element: impl Fn(i64, i64) -> String) -> String {
    let row = |i: i64| (0..SIZE).map(|j| element(i, j)).collect::<Vec<_>>().join(", ");
    let rows: Vec<String> = (0..SIZE).map(|i| format!("[{}]", row(i))).collect();
    format!("dense<[{}]>", rows.join(", "))
}

const IOTAS: &str = "  %i = ng.iota {axis = 0, type = tensor<5x5xi64>} : tensor<5x5xi64>
  %j = ng.iota {axis = 1, type = tensor<5x5xi64>} : tensor<5x5xi64>";

/// What is added where columns are related to rows, by a comparison of places.
fn compared(direction: &str) -> String {
    format!(
        "{IOTAS}
  %c = ng.compare %j, %i {{direction = \"{direction}\"}} : tensor<5x5xi64>, tensor<5x5xi64> -> tensor<5x5xi1>
  %zero = ng.constant 0.0 : f32
  %inf = ng.constant 0xFF800000 : f32
  %m = ng.where %c, %zero, %inf : tensor<5x5xi1>, f32, f32 -> tensor<5x5xf32>
  %y = ng.add %x, %m : tensor<5x5xf32>"
    )
}

#[test]
fn masks_are_tests_of_places() {
    let relations: [(&str, Relation); 5] = [
        ("LE", |j, i| j <= i),
        ("LT", |j, i| j < i),
        ("GE", |j, i| j >= i),
        ("GT", |j, i| j > i),
        ("EQ", |j, i| j == i),
    ];
    for (direction, holds) in relations {
        let mut store = Store::new();
        let by_places = read(&mut store, &compared(direction), "%y");
        let added = dense(|i, j| if holds(j, i) { "0.0" } else { "0xFF800000" }.into());
        let lines =
            format!("  %m = ng.constant {added} : tensor<5x5xf32>\n  %y = ng.add %x, %m : tensor<5x5xf32>");
        assert_eq!(read(&mut store, &lines, "%y"), by_places, "{direction}, added");
        let truth = dense(|i, j| holds(j, i).to_string());
        let lines = format!(
            "  %c = ng.constant {truth} : tensor<5x5xi1>\n  %inf = ng.constant 0xFF800000 : f32
  %y = ng.where %c, %x, %inf : tensor<5x5xi1>, tensor<5x5xf32>, f32 -> tensor<5x5xf32>"
        );
        assert_eq!(read(&mut store, &lines, "%y"), by_places, "{direction}, chosen");
    }
}

#[test]
fn a_counted_sequence_is_the_place() {
    let mut store = Store::new();
    let counted = dense(|i, j| format!("{}.0", 3 * i - 2 * j + 7));
    let lines = format!("  %y = ng.constant {counted} : tensor<5x5xf32>");
    let written = format!(
        "{IOTAS}
  %a = ng.convert %i {{to = f32}} : tensor<5x5xi64> -> tensor<5x5xf32>
  %b = ng.convert %j {{to = f32}} : tensor<5x5xi64> -> tensor<5x5xf32>
  %three = ng.constant 3.0 : f32
  %two = ng.constant 2.0 : f32
  %seven = ng.constant 7.0 : f32
  %p = ng.mul %three, %a : f32, tensor<5x5xf32> -> tensor<5x5xf32>
  %q = ng.mul %two, %b : f32, tensor<5x5xf32> -> tensor<5x5xf32>
  %s = ng.sub %p, %q : tensor<5x5xf32>
  %y = ng.add %s, %seven : tensor<5x5xf32>, f32 -> tensor<5x5xf32>"
    );
    assert_eq!(read(&mut store, &lines, "%y"), read(&mut store, &written, "%y"));
}

#[test]
fn what_constants_pick_is_read_at_its_places() {
    let row = |of: &str, at: i64| {
        format!(
            "  %s = ng.slice {of} {{axes = [0], starts = [{at}], stops = [{}]}} : {}
  %y = ng.broadcast_to %s {{shape = [5, 5]}} : tensor<1x5xf32> -> tensor<5x5xf32>",
            at + 1,
            if of == "%x" {
                "tensor<5x5xf32> -> tensor<1x5xf32>"
            } else {
                "tensor<12x5xf32> -> tensor<1x5xf32>"
            }
        )
    };
    // Steps along digits of the place: in twos, threes, sixes, backwards and over again.
    let tables: [fn(i64) -> i64; 6] = [
        |k| k % 3,
        |k| k / 3,
        |k| k / 2 % 3,
        |k| 4 - k % 4,
        |k| k / 6 * 2 + k % 2,
        |k| 4 - k % 6 / 3 - k / 6,
    ];
    for (n, table) in tables.into_iter().enumerate() {
        let numbers: Vec<String> = (0..12).map(|k| table(k).to_string()).collect();
        let picked = format!(
            "  %at = ng.constant dense<[{}]> : tensor<12xi64>
  %g = ng.gather %x, %at {{axis = 0}} : tensor<5x5xf32>, tensor<12xi64> -> tensor<12x5xf32>",
            numbers.join(", ")
        );
        for k in 0..12 {
            let mut store = Store::new();
            let lines = format!("{picked}\n{}", row("%g", k));
            let direct = read(&mut store, &row("%x", table(k)), "%y");
            assert_eq!(read(&mut store, &lines, "%y"), direct, "table {n} at {k}");
        }
    }
}

#[test]
fn other_constants_are_leaves() {
    let mut store = Store::new();
    let irregular = dense(|i, j| format!("{}.0", (i * i + j * 3) % 7));
    let shown = read(&mut store, &format!("  %y = ng.constant {irregular} : tensor<5x5xf32>"), "%y");
    assert_eq!(shown, "x1[i0, i1]");
    let scattered = dense(|i, j| if (i + j) % 3 == 0 { "0.0" } else { "0xFF800000" }.into());
    let shown = read(&mut store, &format!("  %y = ng.constant {scattered} : tensor<5x5xf32>"), "%y");
    assert_eq!(shown, "x2[i0, i1]");
}
