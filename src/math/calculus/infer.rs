//! Types of terms. What is wanted of a term goes from the outside in, what it is from the inside out; a name stands for its term,
//! with a type of its own at each place of use, so that a polynomial is one of whatever is wanted there.

use ngc_ir::{Context, Diagnostic, Loc, nearest};
use ngc_numerics::Format;

use super::combinators::{ALL, Combinator, Kind as ParameterKind, library};
use super::function::{Function, read_formula, read_real};
use super::polynomial;
use super::prove::{self, Failure, Proof};
use super::real::{Range, Real};
use super::syntax::{Application, Definition, Kind, Signature, Term};
use super::types::{ANY, Combined, Impl, Node, Setting, Type, Typed, Want};
use crate::text::{Text, Word};

/// A definition with its type, and what was proven for it.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The term.
    pub term: Typed,
    /// What its type rests on.
    pub proofs: Vec<Proof>,
}

/// The type of a definition. `bodies` are implementations in assembly beside it, which are no terms.
///
/// # Errors
/// What is wrong with the term, located; of an equality that is not known, which one.
pub fn infer(context: &Context, definition: &Definition, bodies: &[Text]) -> Result<Inferred, Diagnostic> {
    infer_of(context, definition, bodies, ALL)
}

/// As [`infer`], where these are the combinators that there are.
///
/// # Errors
/// As [`infer`].
pub fn infer_of(
    context: &Context,
    definition: &Definition,
    bodies: &[Text],
    combinators: &[&'static Combinator],
) -> Result<Inferred, Diagnostic> {
    let mut infer = Infer { context, bodies, combinators, proofs: Vec::new() };
    let want = infer.signature(&definition.signature)?;
    let term = infer.term(&definition.term, &want, &Scope::EMPTY)?;
    Ok(Inferred { term, proofs: infer.proofs })
}

/// Names that stand for terms, the nearest first.
#[derive(Clone, Copy)]
struct Scope<'a> {
    bindings: &'a [(Word, Term)],
    outer: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    const EMPTY: Scope<'static> = Scope { bindings: &[], outer: None };
}

/// What is known while types are inferred.
pub struct Infer<'a> {
    /// The dialects, which name functions.
    pub context: &'a Context,
    bodies: &'a [Text],
    combinators: &'a [&'static Combinator],
    proofs: Vec<Proof>,
}

impl Infer<'_> {
    fn signature(&self, signature: &[Signature]) -> Result<Want, Diagnostic> {
        let one = |s: &Signature| {
            let function =
                Function::read(self.context, &s.function.text).map_err(|m| failed(&s.function.loc, m))?;
            let end = |w: &Word| read_real(&w.text).map_err(|m| failed(&w.loc, m));
            let range = Range::new(end(&s.from)?, end(&s.to)?);
            if !range.from.is_below(&range.to) {
                return Err(failed(&s.from.loc, format!("{} is not below {}", range.from, range.to)));
            }
            Ok(Want::Impl(Some(function), Some(range)))
        };
        match signature {
            [] => Ok(ANY),
            [only] => one(only),
            [first, second] => Ok(Want::Pair(Box::new([one(first)?, one(second)?]))),
            [.., last] => Err(failed(&last.function.loc, "a term implements one function or two".into())),
        }
    }

    /// A term of the type that is wanted.
    fn term(&mut self, term: &Term, want: &Want, scope: &Scope<'_>) -> Result<Typed, Diagnostic> {
        let loc = &term.loc;
        let typed = match &term.kind {
            Kind::Let(bindings, body) => return self.bound(bindings, body, want, scope),
            Kind::Assembly => return Err(failed(loc, no_assembly("this is a body of assembly"))),
            Kind::Variable(name) => return self.variable(name, loc, want, scope),
            Kind::Reference(library, function) => self.reference(library, function, loc)?,
            Kind::Pair(parts) => {
                let first = self.term(&parts[0], want.part(0), scope)?;
                let second = self.term(&parts[1], want.part(1), scope)?;
                let ty = Type::Pair(Box::new([first.ty.clone(), second.ty.clone()]));
                Typed { ty, node: Node::Pair(Box::new([first, second])), loc: loc.clone() }
            }
            Kind::Apply(of) => match of.name.text.as_str() {
                "fst" => self.part(0, of, want, scope)?,
                "snd" => self.part(1, of, want, scope)?,
                name if polynomial::SCHEMES.iter().any(|s| s.0 == name) => {
                    let ranges = self.settings(of, polynomial::PARAMETERS)?;
                    let (target, node) = polynomial::typed(of, &ranges, want)?;
                    Typed { ty: Type::Impl(target), node, loc: loc.clone() }
                }
                name => {
                    let found = self.combinators.iter().copied().find(|c| c.name == name);
                    self.combined(found.ok_or_else(|| self.unknown(&of.name))?, of, want, scope)?
                }
            },
        };
        self.coerced(typed, want)
    }

    fn unknown(&self, name: &Word) -> Diagnostic {
        if self.bodies.iter().any(|body| body.name == name.text) {
            return failed(&name.loc, no_assembly(&format!("'{}' is assembly", name.text)));
        }
        let names = self
            .combinators
            .iter()
            .map(|c| c.name)
            .chain(polynomial::SCHEMES.iter().map(|s| s.0))
            .chain(["fst", "snd"]);
        let hint = match nearest::nearest(&name.text, names) {
            Some(near) => format!("did you mean '{near}'?"),
            None => "a term calls nothing: it is made of combinators, polynomials and functions of libraries"
                .into(),
        };
        failed(&name.loc, format!("there is no combinator '{}'; {hint}", name.text))
    }

    fn bound(
        &mut self,
        bindings: &[(Word, Term)],
        body: &Term,
        want: &Want,
        scope: &Scope<'_>,
    ) -> Result<Typed, Diagnostic> {
        for (n, (name, _)) in bindings.iter().enumerate() {
            if let Some((first, _)) = bindings[..n].iter().find(|(known, _)| known.text == name.text) {
                let message = format!("'{}' is defined twice; a name stands for one term", name.text);
                return Err(failed(&name.loc, message).note(first.loc.clone(), "the first definition"));
            }
        }
        self.term(body, want, &Scope { bindings, outer: Some(scope) })
    }

    fn variable(
        &mut self,
        name: &str,
        loc: &Loc,
        want: &Want,
        scope: &Scope<'_>,
    ) -> Result<Typed, Diagnostic> {
        let mut at = Some(scope);
        while let Some(known) = at {
            if let Some(n) = known.bindings.iter().rposition(|(w, _)| w.text == name) {
                // It sees the names before its own.
                let before = Scope { bindings: &known.bindings[..n], outer: known.outer };
                return self.term(&known.bindings[n].1, want, &before).map_err(|e| {
                    if e.loc == *loc { e } else { e.note(loc.clone(), format!("'{name}' is used here")) }
                });
            }
            at = known.outer;
        }
        if self.bodies.iter().any(|body| body.name == name) {
            return Err(failed(loc, no_assembly(&format!("'{name}' is assembly"))));
        }
        Err(failed(
            loc,
            format!("there is no term '{name}' before this place; name it with `let {name} = ... in`"),
        ))
    }

    fn reference(&self, library: &str, function: &str, loc: &Loc) -> Result<Typed, Diagnostic> {
        let found = library::find(library, function).map_err(|m| failed(loc, m))?;
        let known = Function::named(self.context, &found.name);
        let function = known.unwrap_or_else(|| Function::opaque(&found.name));
        Ok(Typed { ty: Type::of(function, Range::WHOLE), node: Node::Reference(found), loc: loc.clone() })
    }

    fn part(
        &mut self,
        n: usize,
        of: &Application,
        want: &Want,
        scope: &Scope<'_>,
    ) -> Result<Typed, Diagnostic> {
        let [argument] = &of.arguments[..] else {
            return Err(failed(&of.name.loc, format!("'{}' takes one pair", of.name.text)));
        };
        let mut parts = [ANY, ANY];
        parts[n] = want.clone();
        let pair = self.term(argument, &Want::Pair(Box::new(parts)), scope)?;
        let Type::Pair(types) = &pair.ty else {
            return Err(failed(&argument.loc, format!("is of type {}, and a pair is wanted", pair.ty)));
        };
        let ty = types[n].clone();
        Ok(Typed { ty, node: Node::Part(n, Box::new(pair)), loc: of.name.loc.clone() })
    }

    /// The parameters that are given.
    fn settings(
        &self,
        of: &Application,
        kinds: &[(&str, ParameterKind)],
    ) -> Result<Vec<Option<Setting>>, Diagnostic> {
        if let Some(extra) = of.parameters.get(kinds.len()) {
            let names: Vec<&str> = kinds.iter().map(|k| k.0).collect();
            let message = format!("'{}' has the parameters: {}", of.name.text, names.join(", "));
            return Err(failed(&extra.loc, message));
        }
        let mut all = vec![None; kinds.len()];
        for ((setting, word), (name, kind)) in all.iter_mut().zip(&of.parameters).zip(kinds) {
            if word.text != "_" {
                let fail = |m| failed(&word.loc, format!("{m}, where '{name}' of '{}' stands", of.name.text));
                *setting = Some(self.setting(&word.text, *kind).map_err(fail)?);
            }
        }
        Ok(all)
    }

    fn setting(&self, text: &str, kind: ParameterKind) -> Result<Setting, String> {
        Ok(match kind {
            ParameterKind::Function => Setting::Function(Function::read(self.context, text)?),
            ParameterKind::Real => Setting::Real(read_real(text)?),
            ParameterKind::Formula(variables) => Setting::Formula(read_formula(text, variables)?),
            ParameterKind::Count(most) => {
                let count = text.parse().ok().filter(|n| (1..=most).contains(n));
                Setting::Count(count.ok_or_else(|| format!("'{text}' is no number from 1 to {most}"))?)
            }
            ParameterKind::Format => {
                let format = Format::from_name(text).filter(|f| matches!(f, Format::F32 | Format::F64));
                Setting::Format(format.ok_or_else(|| format!("'{text}' is neither f32 nor f64"))?)
            }
        })
    }

    fn combined(
        &mut self,
        combinator: &'static Combinator,
        of: &Application,
        want: &Want,
        scope: &Scope<'_>,
    ) -> Result<Typed, Diagnostic> {
        let settings = self.settings(of, combinator.parameters)?;
        if of.coefficients.is_some() {
            return Err(failed(&of.name.loc, format!("'{}' takes no coefficients", combinator.name)));
        }
        // What is given as one pair is two arguments.
        let paired: &[Term] = match &of.arguments[..] {
            [Term { kind: Kind::Pair(parts), .. }] if combinator.arguments == 2 => &parts[..],
            given => given,
        };
        if paired.len() != combinator.arguments {
            let count = if combinator.arguments == 1 { "one term" } else { "two terms" };
            let message =
                format!("'{}' combines {count}, not {}: {}", combinator.name, paired.len(), combinator.ty);
            return Err(failed(&of.name.loc, message));
        }
        let typed = paired.iter().map(|_| None).collect();
        let mut site =
            Site { infer: self, combinator, of, want, scope: *scope, terms: paired, settings, typed };
        let ty = (combinator.types)(&mut site)?;
        let Site { settings, typed, .. } = site;
        let settings: Option<Vec<Setting>> = settings.into_iter().collect();
        let arguments: Option<Vec<Typed>> = typed.into_iter().collect();
        let (Some(settings), Some(arguments)) = (settings, arguments) else {
            return Err(failed(
                &of.name.loc,
                format!("internal error: '{}' leaves something open", combinator.name),
            ));
        };
        let node = Node::Combined(Combined { combinator, settings, arguments });
        Ok(Typed { ty, node, loc: of.name.loc.clone() })
    }

    /// A term as one of the type that is wanted: of a function that is the same on a range that is not wider.
    fn coerced(&mut self, mut typed: Typed, want: &Want) -> Result<Typed, Diagnostic> {
        typed.ty = self.coerced_type(&typed.ty, want, &typed.loc)?;
        Ok(typed)
    }

    fn coerced_type(&mut self, ty: &Type, want: &Want, loc: &Loc) -> Result<Type, Diagnostic> {
        match (ty, want) {
            (Type::Pair(parts), Want::Pair(wanted)) => {
                let first = self.coerced_type(&parts[0], &wanted[0], loc)?;
                let second = self.coerced_type(&parts[1], &wanted[1], loc)?;
                Ok(Type::Pair(Box::new([first, second])))
            }
            (Type::Impl(one), Want::Impl(function, range)) => {
                let range = range.as_ref().unwrap_or(&one.range);
                if !range.from.is_at_most(&range.to) {
                    return Err(failed(
                        loc,
                        format!("has no range: {} is not below {}", range.from, range.to),
                    ));
                }
                if !one.range.contains(range) {
                    let message = format!(
                        "is of type {ty}, and an implementation on {range} is wanted: {} reaches from {} to {}",
                        one.function, one.range.from, one.range.to
                    );
                    return Err(failed(loc, message));
                }
                let function = function.as_ref().unwrap_or(&one.function);
                if *function != one.function {
                    self.prove_equal(&one.function, function, range).map_err(|failure| {
                        let wanted = Type::of(function.clone(), range.clone());
                        failed(loc, format!("is of type {ty}, and {wanted} is wanted"))
                            .note(loc.clone(), needed(&one.function, function, range, &failure))
                    })?;
                }
                Ok(Type::of(function.clone(), range.clone()))
            }
            // Of what nothing is known but that it is one, a pair is none.
            (Type::Pair(_), Want::Impl(..)) if *want == ANY => Ok(ty.clone()),
            (Type::Pair(_), Want::Impl(..)) => Err(failed(
                loc,
                format!("is of type {ty}, and one implementation is wanted: take `fst` or `snd` of it"),
            )),
            (Type::Impl(_), Want::Pair(_)) => {
                Err(failed(loc, format!("is of type {ty}, and a pair is wanted")))
            }
        }
    }

    fn prove_equal(&mut self, a: &Function, b: &Function, range: &Range) -> Result<(), Failure> {
        let proof = prove::equal(a, b, range)?;
        if !self.proofs.contains(&proof) {
            self.proofs.push(proof);
        }
        Ok(())
    }
}

fn failed(loc: &Loc, message: String) -> Diagnostic {
    Diagnostic::error(loc.clone(), message)
}

/// Why assembly is no term.
fn no_assembly(what: &str) -> String {
    format!(
        "{what}, and no assembly is an implementation of a function by itself: what it computes is not known from its text; say it \
         by combinators, or verify it with `ngc-math verify`"
    )
}

/// The equality that is needed, and why it is not known.
fn needed(a: &Function, b: &Function, range: &Range, failure: &Failure) -> String {
    let verb =
        if matches!(failure, Failure::Refuted { .. }) { "which is false" } else { "which is not proven" };
    format!("that needs {}(x) = {}(x) for all x in {range}, {verb}: {failure}", shown(a), shown(b))
}

/// A function that can be applied in a message.
fn shown(f: &Function) -> String {
    match &f.name {
        Some(name) => name.clone(),
        None => format!("(x -> {f})"),
    }
}

/// A combinator at a place, whose type is being inferred.
pub struct Site<'s, 'a> {
    infer: &'s mut Infer<'a>,
    combinator: &'static Combinator,
    of: &'s Application,
    /// What is wanted of it.
    pub want: &'s Want,
    scope: Scope<'s>,
    terms: &'s [Term],
    settings: Vec<Option<Setting>>,
    typed: Vec<Option<Typed>>,
}

impl Site<'_, '_> {
    /// Where the combinator is written.
    pub fn loc(&self) -> &Loc {
        &self.of.name.loc
    }

    /// An error at the combinator.
    pub fn fail(&self, message: impl Into<String>) -> Diagnostic {
        let ty = self.combinator.ty;
        failed(self.loc(), format!("'{}' {}", self.combinator.name, message.into()))
            .note(self.loc().clone(), ty)
    }

    /// Types a term that is combined, of the type that is wanted.
    pub fn argument(&mut self, n: usize, want: &Want) -> Result<Type, Diagnostic> {
        let typed = self.infer.term(&self.terms[n], want, &self.scope).map_err(|e| {
            // What is wrong with the term itself is wrong for the sake of the combinator.
            if e.loc == self.terms[n].loc && e.notes.len() == 1 {
                e.note(self.loc().clone(), self.combinator.ty)
            } else {
                e
            }
        })?;
        let ty = typed.ty.clone();
        self.typed[n] = Some(typed);
        Ok(ty)
    }

    /// As [`argument`](Self::argument), of one that is no pair.
    pub fn one(
        &mut self,
        n: usize,
        function: Option<Function>,
        range: Option<Range>,
    ) -> Result<Impl, Diagnostic> {
        match self.argument(n, &Want::Impl(function, range))? {
            Type::Impl(one) => Ok(one),
            ty @ Type::Pair(_) => {
                let message =
                    format!("is of type {ty}, and one implementation is wanted: take `fst` or `snd` of it");
                Err(failed(&self.terms[n].loc, message))
            }
        }
    }

    /// A parameter, where it is given.
    pub fn setting(&self, n: usize) -> Option<&Setting> {
        self.settings.get(n)?.as_ref()
    }

    /// A function among the parameters, where it is given.
    pub fn function(&self, n: usize) -> Option<Function> {
        match self.setting(n) {
            Some(Setting::Function(f)) => Some(f.clone()),
            _ => None,
        }
    }

    /// A number among the parameters, where it is given.
    pub fn real(&self, n: usize) -> Option<Real> {
        match self.setting(n) {
            Some(Setting::Real(x)) => Some(x.clone()),
            _ => None,
        }
    }

    /// Sets a parameter, or what follows from the parameters.
    pub fn set(&mut self, n: usize, setting: Setting) {
        while self.settings.len() <= n {
            self.settings.push(None);
        }
        self.settings[n] = Some(setting);
    }

    /// Refuses a period that is none.
    ///
    /// # Errors
    /// When it is not above 0 for sure.
    pub fn positive(&self, period: &Real) -> Result<(), Diagnostic> {
        match Real::zero().is_below(period) && period.is_finite() {
            true => Ok(()),
            false => Err(self.fail(format!("takes a period above 0, not {period}"))),
        }
    }

    /// Proves that two functions are equal on a range.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn prove(&mut self, a: &Function, b: &Function, range: &Range) -> Result<(), Failure> {
        self.infer.prove_equal(a, b, range)
    }

    /// As [`prove`](Self::prove), as an error at the combinator.
    pub fn require(&mut self, a: &Function, b: &Function, range: &Range) -> Result<(), Diagnostic> {
        let (loc, name) = (self.loc().clone(), self.combinator.name);
        self.prove(a, b, range).map_err(|failure| {
            failed(&loc, format!("'{name}' does not fit: it needs {a} = {b} for all x in {range}"))
                .note(
                    loc.clone(),
                    format!(
                        "that is {}: {failure}",
                        if matches!(failure, Failure::Refuted { .. }) { "false" } else { "not proven" }
                    ),
                )
                .note(loc.clone(), self.combinator.ty)
        })
    }

    /// Notes an inequality that was proven by enclosures.
    pub fn proven(&mut self, claim: String) {
        let proof = Proof { claim, by: vec!["enclosures".into()] };
        if !self.infer.proofs.contains(&proof) {
            self.infer.proofs.push(proof);
        }
    }
}
