//! The short cut beside the grammar of rule files: what it accepts is what the grammar reads.

use ngc_numerics::Random;
use ngc_passes::rewrite::BUNDLED;
use ngc_passes::rewrite::parse::{by_grammar, fast};
use proptest::prelude::*;

/// What is put into a text at a random place: all that means something to the grammar, and what nearly does.
const PIECES: &[&str] = &[
    " ",
    "\n",
    "-",
    "--",
    "+",
    "*",
    "/",
    "//",
    "///",
    "// x\n",
    "/// x\n",
    "=",
    "==",
    "!=",
    "<",
    "<=",
    "<=>",
    ">",
    ">=",
    "=>",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "@",
    "?",
    "?x",
    ".",
    "_",
    "a",
    "A",
    "or ",
    "not ",
    " or",
    "not(",
    "inf",
    "inf_",
    "-inf",
    "1",
    "1.",
    ".5",
    "1e",
    "1e5",
    "1e-5",
    "1.e5",
    "2x",
    "const",
    "const(1)",
    "rounded(sqrt(2))",
    "rational(",
    "rule ",
    "where ",
    "when ",
    "bound ",
    "where true",
    "a-b",
    "a_b",
    "ng.exp",
    "ng.",
    "x.y.z",
    "exp(",
    "E",
    "é",
    "\0",
    "bound right <= u",
    "axis = 1",
    "axis == 1",
];

fn same(text: &str) -> bool {
    let Some(fast) = fast::parse(text, 3) else { return false };
    let grammar = by_grammar(text, 3).unwrap_or_else(|e| panic!("the grammar refuses it: {e:?}\n{text}"));
    let [fast, grammar] = [fast, grammar].map(|rules| format!("{rules:#?}"));
    let different = fast.lines().zip(grammar.lines()).find(|(a, b)| a != b);
    assert!(fast == grammar, "{different:?}\n{text}");
    true
}

#[test]
fn bundled_rules_take_the_short_cut() {
    for (name, text) in BUNDLED {
        assert!(same(text), "{name} is read by the grammar");
    }
}

/// One rule of a bundled file with a few pieces put in, taken out or doubled.
fn changed(seed: u64) -> String {
    let mut r = Random::new(seed);
    let (_, file) = r.pick(BUNDLED);
    let blocks: Vec<&str> = file.split("\n\n").collect();
    let at = r.below(blocks.len() - 1);
    let mut text = blocks[at..at + 2].join("\n\n");
    for _ in 0..1 + r.below(3) {
        let place = |r: &mut Random| {
            let mut place = r.below(text.len() + 1);
            while !text.is_char_boundary(place) {
                place -= 1;
            }
            place
        };
        let (a, b) = (place(&mut r), place(&mut r));
        let near = (a.max(b) - a.min(b)) % 6 + a.min(b);
        let near = (near..=text.len()).find(|&n| text.is_char_boundary(n)).unwrap_or(text.len());
        match r.below(3) {
            0 => text.insert_str(a, r.pick(PIECES)),
            1 => text.replace_range(a.min(b)..near, ""),
            _ => text.replace_range(a.min(b)..near, r.pick(PIECES)),
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]
    #[test]
    fn what_the_short_cut_accepts_is_what_the_grammar_reads(seed in any::<u64>()) {
        same(&changed(seed));
    }
}

#[test]
fn the_short_cut_is_often_taken_by_changed_rules() {
    let taken = (0..2_000).filter(|&seed| fast::parse(&changed(seed), 0).is_some()).count();
    assert!((200..1_800).contains(&taken), "{taken} of 2000");
}
