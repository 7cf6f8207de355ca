//! Choices by place: masks, joined pieces, padding.

use ngc_ir::structure::{Axis, Index, Size, Test};

use crate::store::Store;
use crate::term::{Function, Map, Node, Number, Use};

impl Store {
    /// `yes` where all tests of the place hold, else `no`.
    pub fn choose_by_place(&mut self, tests: Vec<Test>, yes: Use, no: Use, space: &[Size]) -> Use {
        let mut open = Vec::new();
        for test in tests {
            match test.known(space) {
                Some(true) => {}
                Some(false) => return no,
                None => open.push(test),
            }
        }
        if open.is_empty() || yes == no {
            return yes;
        }
        match (self.as_truth(&yes), self.as_truth(&no)) {
            (Some(true), Some(false)) => return self.holds(open, space),
            (Some(false), Some(true)) => {
                let holds = self.holds(open, space);
                return self.apply(Function::Not, vec![holds], space);
            }
            _ => {}
        }
        // One test of two that are opposite: numbers stand where it fails.
        if let [Test::AtLeastZero(index)] = &open[..]
            && self.rank(&yes) < self.rank(&no)
            && let Some(below) = index.scaled(-1).and_then(|index| index.plus(&Index::number(-1)))
        {
            return self.choose_by_place(vec![Test::AtLeastZero(below)], no, yes, space);
        }
        // What fails the outer test and what fails the inner one are the same.
        if let Some((inner, first, second)) = self.parted(&yes, space)
            && second == no
        {
            open.extend(inner);
            return self.choose_by_place(open, first, no, space);
        }
        if let [test] = &open[..]
            && let Some(fused) = self.fused(test, &yes, &no, space)
        {
            return fused;
        }
        self.close(Node::Where(open, yes, no), space)
    }

    /// Whether all tests of the place hold, as a truth value.
    pub fn holds(&mut self, tests: Vec<Test>, space: &[Size]) -> Use {
        let mut open = Vec::new();
        for test in tests {
            match test.known(space) {
                Some(true) => {}
                Some(false) => return self.close(Node::Holds(vec![Test::Zero(Index::number(1))]), &[]),
                None => open.push(test),
            }
        }
        self.close(Node::Holds(open), space)
    }

    /// The order of the two sides of a choice: numbers come first, and names do not count.
    fn rank(&self, of: &Use) -> (bool, u128) {
        (!matches!(self.node(of.id), Node::Number(_)), self.digest(of.id))
    }

    /// The truth value, if it is the same at every place.
    fn as_truth(&self, of: &Use) -> Option<bool> {
        match self.node(of.id) {
            Node::Holds(tests) if tests.is_empty() => Some(true),
            Node::Holds(tests) if *tests == [Test::Zero(Index::number(1))] => Some(false),
            _ => None,
        }
    }

    /// A choice by place, over the dimensions of its user.
    pub(crate) fn parted(&self, of: &Use, space: &[Size]) -> Option<(Vec<Test>, Use, Use)> {
        let Node::Where(tests, yes, no) = self.node(of.id) else { return None };
        Some((
            placed(tests, &of.map, space)?,
            self.compose(yes, &of.map, space)?,
            self.compose(no, &of.map, space)?,
        ))
    }

    /// The tests of a truth value that depends on the place alone, over the dimensions of its user.
    pub(crate) fn tested(&self, of: &Use, space: &[Size]) -> Option<Vec<Test>> {
        let Node::Holds(tests) = self.node(of.id) else { return None };
        placed(tests, &of.map, space)
    }

    /// Whether a choice by place is an infinity on one side.
    pub(crate) fn infinite_branch(&self, of: &Use) -> bool {
        let Node::Where(_, yes, no) = self.node(of.id) else { return false };
        let infinite = |x: &Use| matches!(self.node(x.id), Node::Number(Number::Infinite { .. }));
        infinite(yes) || infinite(no)
    }

    /// Whether a choice by place is 0 on one side.
    pub(crate) fn zero_branch(&self, of: &Use) -> bool {
        let Node::Where(_, yes, no) = self.node(of.id) else { return false };
        let zero = |x: &Use| self.as_rational(x).is_some_and(|x| x.is_zero());
        zero(yes) || zero(no)
    }
}

/// Tests over the slots of a term, over the dimensions of its user.
fn placed(tests: &[Test], map: &Map, space: &[Size]) -> Option<Vec<Test>> {
    let by = |Axis(n)| map.get(n as usize).cloned().unwrap_or(Index::ZERO);
    tests.iter().map(|test| Some(test.of(test.index().substituted(&by, space)?))).collect()
}
