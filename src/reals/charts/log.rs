//! The log chart: a value as the logarithm of its magnitude.
//!
//! `log|a b| = log|a| + log|b|`, `log Σ a = log Σ exp(log a)`: the logarithm is pushed down to where an exponential meets it
//! or nothing is left but a value that is read as it is. Infinities are values here: where a part is 0, its logarithm is -inf.

use ngc_ir::structure::Size;
use ngc_numerics::{Cmp, Prim, Reduce};
use rug::Rational;

use super::exponent::Multiple;
use super::{Chart, Charts, DEEPEST};
use crate::store::within;
use crate::term::{Function, Id, Node, Number, Use};

/// The logarithm of the magnitude of a value.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub term: Use,
    /// Whether it is anything but the function `log` of the value.
    pub opens: bool,
}

impl Log {
    fn open(term: Use) -> Log {
        Log { term, opens: true }
    }
}

impl Charts<'_> {
    /// What the log chart gives for a term: a logarithm pushed inside, and the exponential of a logarithm.
    pub(super) fn logarithms(&mut self, id: Id) -> Vec<(Chart, Option<Use>)> {
        let space = self.space(id);
        if let Node::Apply(Function::Prim(Prim::Log), parts) = self.node(id) {
            let log = self.log_of(&parts[0], &space);
            let mut found = vec![(Chart::Log, log.opens.then_some(log.term))];
            if let Some(log) = self.log_of_others(&parts[0], &space) {
                let far = self.far_from_one(log.clone(), &parts[0], &space);
                found.extend([(Chart::Log, Some(log)), (Chart::Log, Some(far))]);
            }
            let scaled = self.multiple_of(&parts[0], &space);
            if !self.is_zero(&scaled.exponent) {
                // Weights that add up to 1 must stay beside what they weigh.
                let whole = self.plain_log(&scaled.factor, &space);
                for rest in [self.log_of(&scaled.factor, &space), whole] {
                    let sum =
                        self.sum(vec![(1.into(), scaled.exponent.clone()), (1.into(), rest.term)], &space);
                    found.push((Chart::ScaledLog, Some(sum)));
                }
            }
            return found;
        }
        let itself = self.itself(id);
        let can_vanish = matches!(self.node(id), Node::Product(_) | Node::Reduce(..) | Node::Linear(..));
        if !can_vanish || !self.nonnegative(&itself) {
            return Vec::new();
        }
        let log = self.log_own(id);
        let value = log.opens.then(|| self.exp(log.term, &space));
        vec![(Chart::Log, value)]
    }

    /// `log(exp(a) b^c d e) = a + c log b + log(d e)`: what opens by itself, and one logarithm of the others, whose own might cancel.
    fn log_of_others(&mut self, of: &Use, space: &[Size]) -> Option<Use> {
        let Node::Product(factors) = self.node(of.id) else { return None };
        let (mut opened, mut others) = (Vec::new(), Vec::new());
        for (x, e) in factors {
            let x = self.placed(&x, of, space)?;
            match self.log_of(&x, space) {
                Log { term, opens: true } => opened.push((e, term)),
                _ => others.push((x, e)),
            }
        }
        (!opened.is_empty() && others.len() > 1).then_some(())?;
        let others = self.store.product(1.into(), others, space);
        opened.push((1.into(), self.plain_log(&others, space).term));
        Some(self.sum(opened, space))
    }

    /// A logarithm in a chart where the value is far from 1, and as it is near 1, where logarithms cancel.
    pub(super) fn far_from_one(&mut self, log: Use, of: &Use, space: &[Size]) -> Use {
        let one = self.store.rational(1);
        let size = self.store.apply(Function::Prim(Prim::Abs), vec![log.clone()], space);
        let far = self.store.compare(Cmp::Lt, one.clone(), size, space);
        let near = match self.node(of.id) {
            // What is as near to 1 as its distance is small.
            Node::Linear(constant, _) if constant == 1 => {
                let distance = self.difference(of.clone(), one, space);
                let zero = self.store.rational(0);
                let distance = self.store.apply(Function::Choose, vec![far.clone(), zero, distance], space);
                self.log1p(distance, space)
            }
            _ => {
                let near = self.store.apply(Function::Choose, vec![far.clone(), one, of.clone()], space);
                self.store.apply(Function::Prim(Prim::Log), vec![near], space)
            }
        };
        self.store.apply(Function::Choose, vec![far, log, near], space)
    }

    /// The logarithm of the magnitude of a value, along dimensions of these extents.
    pub(super) fn log_of(&mut self, of: &Use, space: &[Size]) -> Log {
        let own = self.log_own(of.id);
        match self.placed(&own.term, of, space) {
            Some(term) => Log { term, ..own },
            None => self.plain_log(of, space),
        }
    }

    fn plain_log(&mut self, of: &Use, space: &[Size]) -> Log {
        let magnitude = match self.nonnegative(of) {
            true => of.clone(),
            false => self.store.apply(Function::Prim(Prim::Abs), vec![of.clone()], space),
        };
        let term = self.store.apply(Function::Prim(Prim::Log), vec![magnitude], space);
        Log { term, opens: false }
    }

    /// The logarithm of a term, along its own slots.
    fn log_own(&mut self, id: Id) -> Log {
        if let Some(known) = self.logs.get(&id) {
            return known.clone();
        }
        let (itself, space) = (self.itself(id), self.space(id));
        self.depth += 1;
        let inside = if self.depth <= DEEPEST { self.log_inside(id, &space) } else { None };
        self.depth -= 1;
        let log = match inside {
            Some(log) => log,
            None => self.plain_log(&itself, &space),
        };
        self.logs.insert(id, log.clone());
        log
    }

    /// The logarithm as a law for this kind of node gives it.
    fn log_inside(&mut self, id: Id, space: &[Size]) -> Option<Log> {
        match self.node(id) {
            Node::Apply(Function::Prim(Prim::Exp), x) => Some(Log::open(x[0].clone())),
            Node::Apply(Function::Prim(Prim::Abs), x) => Some(self.log_of(&x[0], space)),
            Node::Apply(Function::Prim(Prim::Sinh | Prim::Cosh), _) => {
                let Multiple { factor, exponent } = self.multiple_own(id);
                let rest = self.plain_log(&factor, space).term;
                Some(Log::open(self.sum(vec![(1.into(), exponent), (1.into(), rest)], space)))
            }
            Node::Apply(Function::Prim(Prim::Pow), x) => {
                let log = self.log_of(&x[0], space).term;
                let log = self.times(x[1].clone(), log, space);
                if self.facts.is_nonzero(self.store, x[0].id) {
                    return Some(Log::open(log));
                }
                // 0^0 = 1.
                let zero = self.store.rational(0);
                let none = self.store.compare(Cmp::Eq, x[1].clone(), zero.clone(), space);
                Some(Log::open(self.store.apply(Function::Choose, vec![none, zero, log], space)))
            }
            Node::Apply(Function::Choose, x) => {
                let (yes, no) = (self.log_of(&x[1], space), self.log_of(&x[2], space));
                let parts = vec![x[0].clone(), yes.term, no.term];
                (yes.opens || no.opens).then(|| Log::open(self.store.apply(Function::Choose, parts, space)))
            }
            Node::Where(tests, yes, no) => {
                let (yes, no) = (self.log_of(&yes, space), self.log_of(&no, space));
                let opens = yes.opens || no.opens;
                Some(Log { term: self.store.choose_by_place(tests, yes.term, no.term, space), opens })
            }
            Node::Product(factors) => {
                let logs = factors.into_iter().map(|(x, e)| (e, self.log_of(&x, space).term)).collect();
                Some(Log::open(self.sum(logs, space)))
            }
            Node::Max(parts) if parts.iter().all(|x| self.nonnegative(x)) => {
                let logs: Vec<_> = parts.iter().map(|x| self.log_of(x, space)).collect();
                let opens = logs.iter().any(|log| log.opens);
                let logs = logs.into_iter().map(|log| log.term).collect();
                opens.then(|| Log::open(self.store.greatest(logs, space)))
            }
            Node::Reduce(kind, over, body) => {
                let inner = within(space, &over);
                let log = self.log_of(&body, &inner);
                match kind {
                    Reduce::Prod => Some(Log::open(self.store.reduce(Reduce::Sum, over, log.term, space))),
                    Reduce::Max if log.opens && self.nonnegative(&body) => {
                        Some(Log::open(self.store.reduce(Reduce::Max, over, log.term, space)))
                    }
                    Reduce::Sum if log.opens && self.nonnegative(&body) => {
                        let body = self.exp(log.term, &inner);
                        let sum = self.store.reduce(Reduce::Sum, over, body, space);
                        Some(Log::open(self.store.apply(Function::Prim(Prim::Log), vec![sum], space)))
                    }
                    _ => None,
                }
            }
            Node::Linear(constant, terms) => match self.same_signs(&constant, &terms) {
                true => self.log_of_sum(&constant, &terms, space),
                false => {
                    let other = self.without_cancellation(id)?;
                    Some(self.log_of(&other, space))
                }
            },
            _ => None,
        }
    }

    /// Whether nothing in a sum cancels: no term is negative, or none is positive.
    pub(super) fn same_signs(&mut self, constant: &Rational, terms: &[(Rational, Use)]) -> bool {
        let (store, facts) = (&*self.store, &mut *self.facts);
        let mut all = |positive: bool| {
            (constant.is_zero() || (*constant > 0) == positive)
                && terms.iter().all(|(c, x)| match (*c > 0) == positive {
                    true => facts.is_nonnegative(store, x.id),
                    false => facts.is_nonpositive(store, x.id),
                })
        };
        all(true) || all(false)
    }

    /// `log Σ c t = m + log Σ exp(log c + log t - m)`, m the greatest of the logarithms.
    fn log_of_sum(&mut self, constant: &Rational, terms: &[(Rational, Use)], space: &[Size]) -> Option<Log> {
        let mut logs = Vec::new();
        let mut opens = false;
        for (c, x) in terms {
            let log = self.log_of(x, space);
            opens |= log.opens;
            let factor = self.log_of_number(c, space);
            logs.push(self.sum(vec![(1.into(), log.term), (1.into(), factor)], space));
        }
        if !constant.is_zero() {
            logs.push(self.log_of_number(constant, space));
        }
        match logs.len() {
            1 => return logs.pop().map(|term| Log { term, opens }),
            _ if !opens => return None,
            _ => {}
        }
        Some(Log::open(self.log_sum_exp(logs, space)))
    }

    fn log_of_number(&mut self, number: &Rational, space: &[Size]) -> Use {
        let number = self.store.number(Number::Finite(number.clone().abs()));
        self.store.apply(Function::Prim(Prim::Log), vec![number], space)
    }

    /// `log Σ exp(l)`; of more than two `m + log Σ exp(l - m)`, m the greatest.
    pub(super) fn log_sum_exp(&mut self, logs: Vec<Use>, space: &[Size]) -> Use {
        if let [_, _] = &logs[..] {
            // Of two there is an op, which does so itself.
            let parts = logs.iter().map(|x| (Rational::from(1), self.exp(x.clone(), space))).collect();
            let sum = self.sum(parts, space);
            return self.store.apply(Function::Prim(Prim::Log), vec![sum], space);
        }
        let greatest = self.greatest(logs.clone(), space);
        let mut parts = Vec::new();
        for one in logs {
            let below = self.difference(one, greatest.clone(), space);
            parts.push((Rational::from(1), self.exp(below, space)));
        }
        let sum = self.sum(parts, space);
        let rest = self.store.apply(Function::Prim(Prim::Log), vec![sum], space);
        self.sum(vec![(1.into(), greatest), (1.into(), rest)], space)
    }
}
