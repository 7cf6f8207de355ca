//! The numerical lambda calculus: terms that say how a function is implemented, of types that say which function on which range.
//!
//! `Impl<f, a, b>` denotes a set of functions of real numbers with one of them, `f` on `[a, b]`, distinguished: an implementation
//! may be as inaccurate as it likes, but it is one of `f`. A combinator is sound if it makes of true functions a true function, so
//! what a term implements is decided by its type, never by its values. Conditions of types, such as `f(-x) = -f(x)`, are proven:
//! equalities by an e-graph over a set of identities, inequalities by enclosures ([`prove`]). What is not proven is refused.

pub mod combinators;
pub mod function;
pub mod infer;
pub mod lower;
pub mod meaning;
pub mod polynomial;
pub mod prove;
pub mod real;
pub mod syntax;
pub mod types;

use ngc_ir::{Context, Diagnostic};

use self::infer::Inferred;
use self::lower::Assembly;
use self::syntax::Definition;
use crate::text::{self, File, Text};

/// A term of a file, with its type and its assembly.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// As it is written.
    pub definition: Definition,
    /// Its type, and what was proven for it.
    pub inferred: Inferred,
    /// Its steps; nothing of a pair.
    pub assembly: Option<Assembly>,
}

/// The terms of a file: typed, their combinators held against their functions at points, and lowered.
///
/// # Errors
/// The first thing that is wrong, located.
pub fn compile(context: &Context, file: &File) -> Result<Vec<Compiled>, Diagnostic> {
    file.definitions.iter().map(|definition| compile_one(context, definition, file)).collect()
}

/// The implementations of a file: those in assembly, and those that its terms become. `add` gives a text a number in the table of
/// sources.
///
/// # Errors
/// As [`compile`].
pub fn implementations(
    context: &Context,
    file: File,
    add: &mut dyn FnMut(&str, &str) -> u16,
) -> Result<(Vec<Compiled>, Vec<Text>), Diagnostic> {
    let compiled = compile(context, &file)?;
    let mut all = file.implementations;
    for one in &compiled {
        let Some(assembly) = &one.assembly else { continue };
        let number = add(&format!("<assembly of {}>", one.definition.name.text), &assembly.text);
        let (domain, formula) = match &one.inferred.term.ty {
            types::Type::Impl(one) => {
                let formula = one.function.formula.clone().filter(|_| one.function.name.is_none());
                (Some(one.ends()), formula)
            }
            types::Type::Pair(_) => (None, None),
        };
        let made = |t| Text { calls: assembly.calls, domain, formula: formula.clone(), ..t };
        all.extend(text::parse(&assembly.text, number)?.into_iter().map(made));
    }
    Ok((compiled, all))
}

fn compile_one(context: &Context, definition: &Definition, file: &File) -> Result<Compiled, Diagnostic> {
    let inferred = infer::infer(context, definition, &file.implementations)?;
    if let Some(wrong) = meaning::refuted(&inferred.term) {
        let message = format!(
            "internal error: exactly computed, '{}' is {} at {}, where its function is {}",
            definition.name.text, wrong.found, wrong.x, wrong.wanted
        );
        return Err(Diagnostic::error(definition.name.loc.clone(), message));
    }
    let assembly = match &inferred.term.ty {
        types::Type::Pair(_) => None,
        types::Type::Impl(_) => {
            let doc =
                if definition.doc.is_empty() { inferred.term.ty.to_string() } else { definition.doc.clone() };
            Some(lower::lower(&inferred.term, &definition.name.text, &doc, definition.format)?)
        }
    };
    Ok(Compiled { definition: definition.clone(), inferred, assembly })
}
