//! Printing then parsing is the identity, in both forms, with and without locations, on one thread and on several.

use std::sync::Arc;

use ngc_ir::attributes::{Attr, AttrDict, Dense};
use ngc_ir::text::{
    ParseOptions, PrintOptions, parse_attribute, parse_module, print_attribute, print_module,
};
use ngc_ir::{Context, Dim, Ident, Module, Sources, Type};
use ngc_numerics::{DType, Format};
use proptest::prelude::*;

fn context() -> Context {
    let mut context = ngc_dialects::context();
    context.allow_unregistered = true;
    context
}

fn parse(text: &str, parallel: bool) -> (Module, Sources) {
    let mut sources = Sources::new();
    let file = sources.add("f.ngir", text, 1);
    match parse_module(&context(), &sources, file, &ParseOptions { parallel, forms: None }) {
        Ok(module) => (module, sources),
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

/// The text of the module that `text` holds, after checking that it reads back as itself in every way.
fn round_trip(text: &str) -> String {
    let (module, sources) = parse(text, true);
    let custom = print_module(&module, &PrintOptions::default());
    for options in [
        PrintOptions::default(),
        PrintOptions { generic: true, ..PrintOptions::default() },
        PrintOptions { debuginfo: true, sources: Some(&sources), ..PrintOptions::default() },
        PrintOptions { generic: true, debuginfo: true, sources: Some(&sources) },
    ] {
        let printed = print_module(&module, &options);
        let (again, sources) = parse(&printed, false);
        assert_eq!(print_module(&again, &PrintOptions::default()), custom);
        // A printed module has all its locations written out, so that its own places do not show.
        if options.debuginfo {
            assert_eq!(print_module(&again, &PrintOptions { sources: Some(&sources), ..options }), printed);
        } else {
            assert_eq!(print_module(&again, &options), printed);
        }
    }
    custom
}

/// As [`round_trip`], and the short cut for simple operations changes nothing.
fn round_trip_both_ways(text: &str) -> String {
    let custom = round_trip(text);
    // Comments keep the short cut for simple operations from being taken.
    let (slow, _) = parse(&text.replace('\n', " // \"(\n"), false);
    assert_eq!(print_module(&slow, &PrintOptions::default()), custom);
    custom
}

const ALL: &str = r#"
!vec = tensor<4xf32>
#range = [-8.0, 8.0]
#where = loc("model.py":3:4)
module @m attributes {a.b = #range} {
  func.func private @declared(f32, !vec {ng.range = #range}) -> (f32 {ng.y}, f64) attributes {ng.z}
  func.func @"quoted name"(%x: !vec {ng.range = #range} loc("x"), %y: !vec) -> !vec {
    %sum = ng.add %x, %y : !vec loc(#where)
    %e = ng.exp %sum {a = 1, b, "c d" = "\00\n\"\\é"} : !vec loc(callsite("f"(#where) at fused<"p">["a", unknown]))
    %c = ng.constant 0.7 : f64
    %i = ng.constant -5 {note = "x"} : i8
    %t = ng.constant true : i1
    %d = ng.constant dense<[[1.0, 2.5], [0x7F800000, -0.0]]> : tensor<2x2xf32>
    %w = ng.constant dense_resource<weights> : tensor<2xi8>
    %parts:2 = "t.split"(%e) <{p = 1}> {q = array<i64: 1, 2>} : (!vec) -> (!vec, f32)
    %r = "t.loop"(%parts#0) ({
    ^bb0(%i0: index):
      "t.br"(%i0)[^bb2, ^bb1] : (index) -> ()
    ^bb1(%k: f32):
      "t.use"(%late, %k) : (f32, f32) -> ()
      "t.br"()[^bb1] : () -> ()
    ^bb2:
      %late = "t.late"(%parts#1) : (f32) -> f32
      "t.br"(%late)[^bb1] : (f32) -> ()
    }, {
    }) {z = #t.attr<"a>" -> [b]>, ty = !t.type<x>} : (!vec) -> !vec
    %f = call @declared2(%r) : (!vec) -> !vec
    return %f : !vec
  }
  func.func nested @declared2(!vec) -> !vec
  %top = "t.top"() : () -> i32
  module { func.func @inner() { "t.region"() ({ func.call @inner() : () -> () module {} }) : () -> () return } }
}
{-# dialect_resources: { builtin: { weights: "0x040000000102" } } #-}
"#;

#[test]
fn everything() {
    insta::assert_snapshot!(round_trip_both_ways(ALL));
}

#[test]
fn generic_form() {
    let (module, _) = parse(ALL, true);
    insta::assert_snapshot!(print_module(
        &module,
        &PrintOptions { generic: true, ..PrintOptions::default() }
    ));
}

#[test]
fn degenerate_modules() {
    for text in ["", "module {}", "module {} module {}", "\"builtin.module\"() ({}) : () -> ()", "// nothing"]
    {
        round_trip(text);
    }
    for text in [
        "func.func @f() {}",
        "func.func @f() {\n^bb0:\n}",
        "\"func.func\"() <{function_type = () -> (), sym_name = \"f\"}> ({}) : () -> ()",
    ] {
        round_trip(text);
    }
}

/// The spelling of floating-point numbers is upstream's, quirks included.
#[test]
fn floats() {
    let spell = |x: f64, format| print_attribute(&Attr::Float(x, Type::float(format)));
    for (x, format, expected) in [
        (0.0, Format::F32, "0.000000e+00 : f32"),
        (-0.0, Format::F32, "-0.000000e+00 : f32"),
        (0.1, Format::F64, "1.000000e-01 : f64"),
        (0.7, Format::F64, "0.69999999999999996 : f64"),
        (123456.7, Format::F64, "123456.7 : f64"),
        (16777217.0, Format::F64, "0x4170000010000000 : f64"),
        (1e300, Format::F64, "1.000000e+300 : f64"),
        (5e-324, Format::F64, "4.940660e-324 : f64"),
        (f64::INFINITY, Format::F16, "0x7C00 : f16"),
        (f64::NEG_INFINITY, Format::F32, "0xFF800000 : f32"),
        (f64::NAN, Format::F8E4M3FN, "0x7F : f8E4M3FN"),
        (Format::Bf16.round(0.1), Format::Bf16, "1.000980e-01 : bf16"),
        (Format::F16.round(0.3), Format::F16, "3.000490e-01 : f16"),
    ] {
        assert_eq!(spell(x, format), expected);
    }
    // In arrays an f64 goes without its type, but for bits, which would read as an integer.
    let array = Attr::Array([Attr::float(0.5), Attr::float(f64::INFINITY)].into());
    assert_eq!(print_attribute(&array), "[5.000000e-01, 0x7FF0000000000000 : f64]");
}

fn read_attribute(text: &str) -> Attr {
    let mut sources = Sources::new();
    let file = sources.add("a", text, 1);
    parse_attribute(&context(), &sources, file).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

fn elem() -> impl Strategy<Value = DType> {
    let floats = Format::ALL.map(DType::Float);
    let ints = [1, 8, 16, 32, 64].map(DType::Int);
    let others = [DType::Unsigned(8), DType::Unsigned(16), DType::Unsigned(32), DType::Index];
    prop::sample::select([&floats[..], &ints[..], &others[..]].concat())
}

fn number() -> impl Strategy<Value = Attr> {
    (elem(), any::<u64>(), any::<f64>(), any::<bool>()).prop_map(|(elem, bits, x, raw)| match elem {
        DType::Float(format) => {
            // NaN has the payload that the format gives it.
            let bits = if raw { bits } else { format.to_bits(x) };
            Attr::Float(format.from_bits(bits), Type::scalar(elem))
        }
        DType::Int(1) => Attr::Bool(bits & 1 == 1),
        _ => Attr::Int(elem.wrap(bits as i64), Type::scalar(elem)),
    })
}

fn dense() -> impl Strategy<Value = Attr> {
    (elem(), prop::collection::vec(0usize..9, 0..4), any::<u64>(), 1u64..7).prop_map(
        |(elem, shape, seed, kinds)| {
            let count: usize = shape.iter().product();
            let size = elem.storage_bytes();
            let width = match elem {
                DType::Float(format) => format.width(),
                DType::Int(bits) | DType::Unsigned(bits) => bits.into(),
                DType::Index => 64,
            };
            let mut bytes: Vec<u8> = (0..count as u64)
                .flat_map(|i| {
                    let word = seed.wrapping_mul(2 * (i % kinds) + 1).rotate_left(i as u32 % kinds as u32);
                    (word >> (64 - width)).to_le_bytes()[..size].to_vec()
                })
                .collect();
            let splat = count > 0 && bytes.chunks(size).all(|c| c == &bytes[..size]);
            if splat {
                bytes.truncate(size);
            }
            let ty = Type::tensor(shape.into_iter().map(Dim::Static), elem);
            Attr::Dense(Arc::new(Dense { ty, bytes: bytes.into(), splat }))
        },
    )
}

fn attribute() -> impl Strategy<Value = Attr> {
    let text = "(?s).{0,12}";
    let leaf = prop_oneof![
        number(),
        dense(),
        Just(Attr::Unit),
        text.prop_map(|s| Attr::from(s.as_str())),
        elem().prop_map(|e| Attr::Type(Type::tensor([Dim::Dynamic, Dim::Static(3)], e))),
        "[a-z][a-z0-9_.]{0,6}".prop_map(|s| Attr::Symbol(s.into())),
        prop::collection::vec(any::<i64>(), 0..4).prop_map(|v| {
            let bytes: Vec<u8> = v.iter().flat_map(|x| x.to_le_bytes()).collect();
            Attr::DenseArray(Arc::new(Dense { ty: Type::int(64), bytes: bytes.into(), splat: false }))
        }),
        Just(Attr::Type(Type::function(&[Type::int(1)], &[Type::function(&[], &[])]))),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| Attr::Array(v.into())),
            prop::collection::vec((".{1,6}", inner), 0..4)
                .prop_map(|v| Attr::Dict(AttrDict::new(v.into_iter().map(|(n, a)| (Ident::new(&n), a))))),
        ]
    })
}

/// One operation of a random function: kind, operands, attribute.
type Step = (u8, prop::sample::Index, prop::sample::Index, Attr);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn attributes(attr in attribute()) {
        let text = print_attribute(&attr);
        prop_assert_eq!(read_attribute(&text), attr, "{}", text);
    }

    #[test]
    fn modules(functions in prop::collection::vec(prop::collection::vec(
        (0u8..6, any::<prop::sample::Index>(), any::<prop::sample::Index>(), attribute()).prop_map(|s: Step| s), 0..12), 0..4))
    {
        let mut text = String::new();
        for (n, steps) in functions.iter().enumerate() {
            text += &format!("func.func @f{n}(%a: f32, %b: f32) -> f32 {{\n");
            let mut values = vec!["%a".to_string(), "%b".to_string()];
            for (i, (kind, x, y, attr)) in steps.iter().enumerate() {
                let (x, y, attr) = (x.get(&values).clone(), y.get(&values).clone(), print_attribute(attr));
                match kind {
                    0 => text += &format!("%{i} = ng.add {x}, {y} : f32\n"),
                    1 => text += &format!("%{i} = ng.exp {x} {{t.a = {attr}}} : f32\n"),
                    2 => text += &format!("%{i} = \"t.op\"({x}, {y}) <{{p = {attr}}}> : (f32, f32) -> f32 loc({i:?})\n").replace("loc(", "loc(\"l").replace(")\n", "\")\n"),
                    3 => text += &format!("%{i} = call @f{n}({x}, {y}) : (f32, f32) -> f32\n"),
                    4 => text += &format!("%{i} = \"t.region\"({x}) ({{ ^bb0(%q: f32): \"t.use\"(%q, {y}) : (f32, f32) -> () }}) : (f32) -> f32\n"),
                    _ => text += &format!("%{i} = ng.constant 1.5 : f32\n"),
                }
                values.push(format!("%{i}"));
            }
            text += &format!("return {} : f32\n}}\n", values[values.len() - 1]);
        }
        round_trip_both_ways(&text);
    }

    /// No text makes the reader panic.
    #[test]
    fn mangled_text(cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..20), 1..6)) {
        let mut text: Vec<char> = ALL.chars().collect();
        for (from, to, length) in cuts {
            let (from, to) = (from.index(text.len()), to.index(text.len()));
            let piece: Vec<char> = text[from..(from + length).min(text.len())].to_vec();
            let end = (to + length / 2).min(text.len());
            text.splice(to..end, piece);
        }
        let text: String = text.into_iter().collect();
        let mut sources = Sources::new();
        let file = sources.add("f", text.as_str(), 1);
        if let Ok(module) = parse_module(&context(), &sources, file, &ParseOptions::default()) {
            round_trip(&print_module(&module, &PrintOptions::default()));
        }
    }
}
