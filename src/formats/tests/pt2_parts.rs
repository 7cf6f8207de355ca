//! Parts of the reader of PyTorch's programs: expressions of extents, and storage by strides.

use std::collections::BTreeMap;

use ngc_formats::pt2::extent::Extent;
use ngc_formats::pt2::schema::{Argument, RangeConstraint};
use ngc_formats::pt2::weights::{Place, strided};
use ngc_numerics::DType;
use proptest::prelude::{any, prop_assert_eq, prop_assume, proptest};

#[test]
fn expressions_are_read() {
    let show = |text: &str| Extent::parse(text).to_string();
    let s = "Symbol('s77', positive=True, integer=True)";
    assert_eq!(show(s), "s77");
    assert_eq!(show(&format!("Mul(Integer(2), Add({s}, Integer(1)))")), "2*(s77+1)");
    assert_eq!(Extent::parse("Integer(12)"), Extent::Known(12));
    for odd in ["Mul(", "Mod(Integer(2), Integer(3))", "Integer(-1)", "", "Symbol('", "'"] {
        assert_eq!(Extent::parse(odd), Extent::Text(odd.into()), "{odd}");
    }
    let deep = "Add(".repeat(1000);
    assert_eq!(Extent::parse(&deep), Extent::Text(deep.clone()));
}

#[test]
fn ranges_follow_from_symbols() {
    let constraints = BTreeMap::from([
        ("s".to_string(), RangeConstraint { min_val: Some(2), max_val: Some(5) }),
        ("t".to_string(), RangeConstraint { min_val: Some(2), max_val: None }),
    ]);
    let range = |text: &str| Extent::parse(text).range(&constraints);
    assert_eq!(range("Mul(Integer(2), Symbol('s'))"), Some((4, 10)));
    assert_eq!(range("Add(s, s, 1)"), Some((5, 11)));
    assert_eq!(range("t"), None);
    assert_eq!(range("Mul(s, 9223372036854775807)"), None);
}

#[test]
fn strides_are_followed() {
    let of = |sizes: &[usize], strides: &[usize], offset| Place {
        file: String::new(),
        dtype: DType::Int(8),
        sizes: sizes.into(),
        strides: strides.into(),
        offset,
    };
    let storage: Vec<u8> = (0..12).collect();
    let read = |place: Place| strided(&place, storage.clone().into()).unwrap().to_vec();
    assert_eq!(read(of(&[3, 4], &[4, 1], 0)), storage);
    assert_eq!(read(of(&[4, 3], &[1, 4], 0)), [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    assert_eq!(read(of(&[2, 2], &[4, 1], 5)), [5, 6, 9, 10]);
    assert_eq!(read(of(&[2, 3], &[1, 0], 7)), [7, 7, 7, 8, 8, 8]);
    assert_eq!(read(of(&[2, 1, 2], &[2, 99, 1], 8)), [8, 9, 10, 11]);
    assert_eq!(read(of(&[0, 3], &[3, 1], 0)), [0u8; 0]);
    assert_eq!(read(of(&[], &[], 3)), [3]);
}

proptest! {
    /// The numbers of a program are those that torch wrote, to the last bit.
    #[test]
    fn numbers_are_read_exactly(bits in any::<u64>()) {
        let x = f64::from_bits(bits);
        prop_assume!(x.is_finite());
        let read: Argument = serde_json::from_str(&format!("{{\"as_float\": {x:?}}}")).unwrap();
        let Argument::AsFloat(number) = read else { panic!("no number") };
        prop_assert_eq!(number.0.to_bits(), bits);
    }
}
