//! Choices by place: masks, joined pieces, padding.

use ngc_ir::structure::{Axis, Index, Size, Test};

use crate::store::Store;
use crate::term::{Map, Node, Number, Use};

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
    pub(crate) fn infinite_branch(&self, of: &Use) -> Option<()> {
        let Node::Where(_, yes, no) = self.node(of.id) else { return None };
        let infinite = |x: &Use| matches!(self.node(x.id), Node::Number(Number::Infinite { .. }));
        (infinite(yes) || infinite(no)).then_some(())
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
