//! Laws: identities over the reals whose right side keeps digits that the left side loses.
//!
//! A law is text ([`text`]), such as `sqrt(a) - sqrt(b) = (a - b) / (sqrt(a) + sqrt(b)) if a != b`. Its left side is a
//! pattern over normal forms ([`matching`]), so one law covers every order, sign and grouping, what stands beside it in a
//! sum, and what multiplies it. A condition that is proven is dropped; one that is not is asked when the program runs
//! ([`build`]). Variables are numbers: of infinities no law speaks. No law is believed: [`verify`] evaluates both of its sides.

pub mod build;
mod draw;
mod enclosed;
mod matching;
pub mod text;
pub mod verify;

use std::sync::LazyLock;

use ngc_ir::structure::{Size, Unknown};
use ngc_ir::{Diagnostic, Diagnostics, Ident, Loc};
use ngc_numerics::Prim;
use rug::Rational;

use self::build::{Bindings, Build, Truth};
use self::matching::{Context, Found, Matcher, Parts};
use self::text::{Expr, Relation, Text};
use crate::facts::Facts;
use crate::form::Equal;
use crate::store::{Leaf, Store};
use crate::term::{Function, Id, Node, Use, at};

/// No more equal terms are made of one.
const MOST_ALTERNATIVES: usize = 64;

/// A law whose left side is a pattern.
#[derive(Debug)]
pub struct Law {
    /// As it is written.
    pub text: Text,
    /// The stem of the name of the file that it is written in.
    pub family: Ident,
    /// The file, from the root of the source tree for one that comes with the library, and the line there.
    pub place: (Ident, usize),
    /// Whether it comes with the library.
    pub bundled: bool,
    /// The left side but for a factor, in the store of patterns.
    left: Use,
    /// This factor.
    factor: Rational,
    /// The functions of the left side, a bit each.
    functions: u128,
    /// A number for all variables at which the left side is a plain number.
    harmless: Rational,
}

/// Laws, and the store in which their left sides are terms.
pub struct Laws {
    laws: Vec<Law>,
    patterns: Store,
}

/// The laws that come with the library, by family.
pub const BUNDLED: &[(&str, &str)] = &[
    ("roots", include_str!("../rules/roots.ngr")),
    ("powers", include_str!("../rules/powers.ngr")),
    ("exponentials", include_str!("../rules/exponentials.ngr")),
    ("trigonometry", include_str!("../rules/trigonometry.ngr")),
    ("hyperbolic", include_str!("../rules/hyperbolic.ngr")),
    ("quotients", include_str!("../rules/quotients.ngr")),
    ("gamma", include_str!("../rules/gamma.ngr")),
    ("reductions", include_str!("../rules/reductions.ngr")),
];

static LAWS: LazyLock<Laws> = LazyLock::new(|| {
    let mut laws = Laws::default();
    let errors = laws.add_bundled();
    assert!(!errors.has_errors(), "{errors:?}");
    laws
});

impl Default for Laws {
    fn default() -> Laws {
        Laws { laws: Vec::new(), patterns: Store::new() }
    }
}

impl Laws {
    /// The laws that come with the library.
    pub fn bundled() -> &'static Laws {
        &LAWS
    }

    /// The laws of a text, which is number `file` in the table of sources.
    ///
    /// # Errors
    /// The first violation of the grammar, an unknown function, or a law that says nothing, located.
    pub fn parse(text: &str, file: u16) -> Result<Laws, Diagnostic> {
        let mut laws = Laws::default();
        match laws.add(("", text, file), false).0.into_iter().next() {
            None => Ok(laws),
            Some(error) => Err(error),
        }
    }

    /// The laws that come with the library, and those of further files: of each its name, its text, and its number in the
    /// table of sources.
    ///
    /// # Errors
    /// The first violation of the grammar in each file, or all that is wrong with its laws, located.
    pub fn with(files: &[(&str, &str, u16)]) -> Result<Laws, Diagnostics> {
        let mut laws = Laws::default();
        let mut errors = laws.add_bundled();
        for file in files {
            errors.0.extend(laws.add(*file, false).0);
        }
        if errors.has_errors() { Err(errors) } else { Ok(laws) }
    }

    fn add_bundled(&mut self) -> Diagnostics {
        let mut errors = Diagnostics::default();
        for (n, (family, text)) in BUNDLED.iter().enumerate() {
            errors.0.extend(self.add((family, text, n as u16), true).0);
        }
        errors
    }

    /// Adds the laws of a file, and says what is wrong with others; those that come with the library need not be asked
    /// whether they say anything.
    fn add(&mut self, (name, source, file): (&str, &str, u16), bundled: bool) -> Diagnostics {
        let (texts, mut errors) = text::read(source, file);
        for text in texts {
            match self.law(text, bundled) {
                Ok((text, left, factor)) => {
                    let functions = functions(&self.patterns, left.id, DEPTH);
                    let harmless = harmless(&mut self.patterns, &text);
                    let before = match text.loc {
                        Loc::Source { offset, .. } => source.as_bytes().get(..offset as usize),
                        _ => None,
                    };
                    let line = 1 + before.unwrap_or_default().iter().filter(|&&c| c == b'\n').count();
                    let place = if bundled { format!("src/reals/rules/{name}.ngr") } else { name.into() };
                    let place = (Ident::new(&place), line);
                    let family = Ident::new(stem(name));
                    self.laws.push(Law { text, family, place, bundled, left, factor, functions, harmless });
                }
                Err(error) => errors.push(error),
            }
        }
        errors
    }

    /// A law with its left side as a pattern and the factor of that.
    fn law(&mut self, text: Text, bundled: bool) -> Result<(Text, Use, Rational), Diagnostic> {
        let (store, loc) = (&mut self.patterns, text.loc.clone());
        let name = text.name;
        if self.laws.iter().any(|law| law.text.name == name) {
            return Err(Diagnostic::error(loc, format!("there is another law '{name}'")));
        }
        let refused = |why: &str| Err(Diagnostic::error(loc.clone(), format!("'{name}' is no law: {why}")));
        let Some(left) = side(store, &text, &text.left) else {
            return refused("its left side has no index form");
        };
        if !bundled && side(store, &text, &text.right).is_none_or(|right| right == left) {
            return refused("both sides have the same normal form");
        }
        // A factor is no part of a pattern: it may be anything.
        let (left, factor) = match store.node(left.id) {
            Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
                (terms[0].1.clone(), terms[0].0.clone())
            }
            _ => (left, Rational::from(1)),
        };
        let pattern = matches!(
            store.node(left.id),
            Node::Linear(..)
                | Node::Product(_)
                | Node::Max(_)
                | Node::Reduce(..)
                | Node::Apply(Function::Prim(_), _)
        );
        if !pattern {
            return refused("its left side is no sum, product, function or reduction");
        }
        Ok((text, left, factor))
    }

    /// The laws, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Law> {
        self.laws.iter()
    }

    /// The law of a name.
    pub fn named(&self, name: &str) -> Option<&Law> {
        self.laws.iter().find(|law| law.text.name.as_str() == name)
    }

    /// Terms over the same slots that a law proves equal to a term, wherever that has a value.
    pub fn alternatives(&self, store: &mut Store, facts: &mut Facts, id: Id) -> Vec<Equal> {
        let mut equal: Vec<Equal> = Vec::new();
        let own = functions(store, id, DEPTH + 2);
        let kind = std::mem::discriminant(store.node(id));
        let itself = Use { id, map: (0..store.sizes(id).len()).map(at).collect() };
        for law in &self.laws {
            let pattern = law.left.id;
            let powers = matches!(
                (self.patterns.node(pattern), store.node(id)),
                (Node::Apply(Function::Prim(Prim::Pow), _), Node::Product(_))
            );
            let alike = powers || std::mem::discriminant(self.patterns.node(pattern)) == kind;
            if law.functions & !own != 0 || !alike {
                continue;
            }
            let space = store.sizes(id).to_vec();
            let mut matcher = Matcher { pattern: &self.patterns, store, space };
            for found in matcher.found(pattern, law.text.variables.len(), id) {
                let Some(term) = law.replaced(store, facts, &found, id) else { continue };
                if term != itself && !equal.iter().any(|known| known.term == term) {
                    equal.push(Equal { term, law: law.text.name });
                }
                if equal.len() == MOST_ALTERNATIVES {
                    return equal;
                }
            }
        }
        equal
    }
}

impl Law {
    /// What a term is if the part that was found is replaced.
    fn replaced(&self, store: &mut Store, facts: &mut Facts, found: &Found, id: Id) -> Option<Use> {
        let space = store.sizes(id).to_vec();
        let bindings = &found.bindings;
        let mut build = Build { store, facts, bindings, space: space.clone() };
        let asked = match build.all(&self.text.conditions, &|relation| self.is_indexed(relation))? {
            Truth::Known(true) => None,
            Truth::Known(false) => return None,
            Truth::Asked(condition) => Some(condition),
        };
        let mut value = store.literally(|store| {
            Build { store, facts, bindings, space: space.clone() }.expr(&self.text.right)
        })?;
        if let Some(condition) = asked {
            let bindings = self.guarded(bindings, &condition, store, &space);
            let otherwise =
                Build { store, facts, bindings: &bindings, space: space.clone() }.expr(&self.text.left)?;
            value = store.apply(Function::Choose, vec![condition, value, otherwise], &space);
        }
        value = store.scaled(Rational::from(self.factor.recip_ref()), value, &space);
        Some(match &found.context {
            Context::Whole => value,
            Context::Sum(factor, Parts { number, rest }) => {
                let terms = rest.iter().cloned().chain([(factor.clone(), value)]).collect();
                store.linear(number.clone(), terms, &space)
            }
            Context::Product(exponent, Parts { number, rest }) => {
                let others = rest.iter().map(|(e, x)| (x.clone(), e.clone()));
                let factors = others.chain([(value, exponent.clone())]).collect();
                store.product(number.clone(), factors, &space)
            }
        })
    }

    /// What the variables stand for where a condition does not hold, else a number: what the law is there to cure does not
    /// go on in what is left to the other side, which would be a term to be cured again.
    fn guarded(&self, of: &Bindings, condition: &Use, store: &mut Store, space: &[Size]) -> Bindings {
        let mut guarded = of.clone();
        for (n, (value, variable)) in guarded.values.iter_mut().zip(&self.text.variables).enumerate() {
            let Some(known) = value.as_mut().filter(|_| !variable.indexed) else { continue };
            if matches!(store.node(known.id), Node::Number(_)) {
                continue;
            }
            // What a number of the law cancels stays outside: `1 + a` of `a = x - 1` is `x`, also where it is guarded.
            let outside = match store.node(known.id) {
                Node::Linear(number, _) if self.text.left.cancels(n, number) => Some(number.clone()),
                _ => None,
            };
            let choose = |harmless: Rational, rest: Use, store: &mut Store| {
                let harmless = store.rational(harmless);
                store.apply(Function::Choose, vec![condition.clone(), harmless, rest], space)
            };
            *known = match outside {
                Some(number) => {
                    let rest = store.linear(Rational::from(-&number), vec![(1.into(), known.clone())], space);
                    let chosen = choose(Rational::from(&self.harmless - &number), rest, store);
                    store.linear(number, vec![(1.into(), chosen)], space)
                }
                None => choose(self.harmless.clone(), known.clone(), store),
            };
        }
        guarded
    }

    /// Whether a relation speaks of places of the index.
    fn is_indexed(&self, relation: &Relation) -> bool {
        let mut indexed = false;
        relation.difference.each_variable(&mut |n| indexed |= self.text.variables[n].indexed);
        indexed
    }

    /// Where it is written.
    pub fn loc(&self) -> Loc {
        self.text.loc.clone()
    }

    /// Its name.
    pub fn name(&self) -> Ident {
        self.text.name
    }
}

/// The name of a file without its folder and its ending.
fn stem(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.strip_suffix(".ngr").unwrap_or(name)
}

/// The variables of a law as leaves of a store, and the extent of its index.
fn leaves(store: &mut Store, text: &Text) -> Bindings {
    let over = vec![Size::unknown(Unknown(0))];
    let values = text.variables.iter().enumerate();
    let values = values
        .map(|(n, variable)| {
            let extents: &[Size] = if variable.indexed { &over } else { &[] };
            Some(store.leaf_use(Leaf::Value(n as u32), extents))
        })
        .collect();
    Bindings { values, over: Some(over) }
}

/// A number for all variables at which the left side is a rational number.
fn harmless(store: &mut Store, text: &Text) -> Rational {
    let numbers = [(1, 1), (2, 1), (0, 1), (1, 2)].map(Rational::from);
    let plain = |number: &&Rational| {
        let value = store.rational((*number).clone());
        let values = text.variables.iter().map(|_| Some(value.clone())).collect();
        let bindings = Bindings { values, over: Some(vec![Size::unknown(Unknown(0))]) };
        let facts = &mut Facts::default();
        let side = Build { store, facts, bindings: &bindings, space: Vec::new() }.expr(&text.left);
        side.is_some_and(|side| store.as_rational(&side).is_some())
    };
    numbers.iter().find(plain).unwrap_or(&numbers[0]).clone()
}

/// A side of a law as a term about leaves.
fn side(store: &mut Store, text: &Text, side: &Expr) -> Option<Use> {
    let bindings = leaves(store, text);
    let facts = &mut Facts::default();
    Build { store, facts, bindings: &bindings, space: Vec::new() }.expr(side)
}

/// How deep functions are collected from a pattern.
const DEPTH: u32 = 2;

/// The functions of a term and its parts down to a depth, a bit each; a power may be written with a product.
fn functions(store: &Store, id: Id, depth: u32) -> u128 {
    const ROOT: u128 = 1 << 120;
    let node = store.node(id);
    let mut all = match node {
        Node::Apply(Function::Prim(Prim::Pow), _) => 0,
        Node::Apply(Function::Prim(prim), _) => 1 << (*prim as u32),
        Node::Product(factors) if factors.iter().any(|(_, e)| *e.denom() != 1) => ROOT,
        Node::Reduce(..) => 1 << 121,
        Node::Max(_) => 1 << 122,
        _ => 0,
    };
    if depth > 0 {
        for child in node.children() {
            all |= functions(store, child.id, depth - 1);
        }
    }
    all
}
