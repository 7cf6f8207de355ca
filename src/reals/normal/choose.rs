//! Choices by place: masks, joined pieces, padding.

use ngc_ir::structure::{Axis, Index, Size, Test};

use crate::store::Store;
use crate::term::{Function, Map, Node, Number, Use};

impl Store {
    /// `yes` where all tests of the place hold, else `no`.
    pub fn choose_by_place(&mut self, tests: Vec<Test>, yes: Use, no: Use, space: &[Size]) -> Use {
        let Some(mut open) = asked(tests, space) else { return no };
        let yes = self.given(&open, yes, space);
        let fails = match &open[..] {
            [test] => opposite(test),
            _ => None,
        };
        let no = fails.map_or(no.clone(), |fails| self.given(&[fails], no, space));
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
        if let [test] = &open[..]
            && self.rank(&yes) < self.rank(&no)
            && let Some(opposite) = opposite(test)
        {
            return self.choose_by_place(vec![opposite], no, yes, space);
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

    /// A value where tests are known to hold.
    fn given(&self, tests: &[Test], mut of: Use, space: &[Size]) -> Use {
        while let Some((asked, yes, no)) = self.parted(&of, space) {
            let denied = asked.iter().any(|test| opposite(test).is_some_and(|test| tests.contains(&test)));
            of = match (denied, asked.iter().all(|test| tests.contains(test))) {
                (true, _) => no,
                (false, true) => yes,
                _ => break,
            };
        }
        of
    }

    /// A function of a choice by place is a choice of its values.
    pub(super) fn over_choice(
        &mut self,
        of: &Use,
        space: &[Size],
        mut f: impl FnMut(&mut Store, Use) -> Use,
    ) -> Option<Use> {
        let (tests, yes, no) = self.parted(of, space)?;
        let (yes, no) = (f(self, yes), f(self, no));
        Some(self.choose_by_place(tests, yes, no, space))
    }

    /// Two choices by the same tests, or by opposite ones: the tests, and both values on either side.
    pub(super) fn common_choice(
        &self,
        a: &Use,
        b: &Use,
        space: &[Size],
    ) -> Option<(Vec<Test>, [Use; 2], [Use; 2])> {
        let ((tests, yes, no), (other, first, second)) = (self.parted(a, space)?, self.parted(b, space)?);
        if tests == other {
            return Some((tests, [yes, first], [no, second]));
        }
        match (&tests[..], &other[..]) {
            ([test], [other]) if opposite(test).as_ref() == Some(other) => {
                Some((tests, [yes, second], [no, first]))
            }
            _ => None,
        }
    }

    /// Whether all tests of the place hold, as a truth value.
    pub fn holds(&mut self, tests: Vec<Test>, space: &[Size]) -> Use {
        let Some(open) = asked(tests, space) else { return self.close(Node::Holds(vec![never()]), &[]) };
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
            Node::Holds(tests) if *tests == [never()] => Some(false),
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

    /// Whether a choice by place is one of numbers, by further tests perhaps.
    pub(crate) fn of_numbers(&self, of: &Use) -> bool {
        let Node::Where(_, yes, no) = self.node(of.id) else { return false };
        [yes, no].iter().all(|x| self.as_rational(x).is_some() || self.of_numbers(x))
    }

    /// Whether a choice by place is 0 on one side.
    pub(crate) fn zero_branch(&self, of: &Use) -> bool {
        let Node::Where(_, yes, no) = self.node(of.id) else { return false };
        let zero = |x: &Use| self.as_rational(x).is_some_and(|x| x.is_zero());
        zero(yes) || zero(no)
    }
}

/// What is to be asked so that all tests hold; nothing where one fails everywhere. Of two tests of which one follows from
/// the other one is asked, and of a number that is neither above nor below 0 whether it is 0.
fn asked(tests: Vec<Test>, space: &[Size]) -> Option<Vec<Test>> {
    let mut open: Vec<Test> = Vec::new();
    for test in tests {
        match test.known(space) {
            Some(true) => continue,
            Some(false) => return None,
            None => {}
        }
        let mut test = unsigned(test);
        let mut n = 0;
        while n < open.len() {
            match both(&open[n], &test, space) {
                Some(joined) => {
                    open.remove(n);
                    (test, n) = (joined, 0);
                }
                None => n += 1,
            }
        }
        open.push(test);
    }
    Some(open)
}

/// The test that holds where both do.
fn both(a: &Test, b: &Test, space: &[Size]) -> Option<Test> {
    if a == b {
        return Some(a.clone());
    }
    let (Test::AtLeastZero(x), Test::AtLeastZero(y)) = (a, b) else { return None };
    let turned = x.scaled(-1)?;
    if turned == *y {
        return Some(unsigned(Test::Zero(x.clone())));
    }
    let apart = y.plus(&turned)?;
    // Where one index is nowhere below the other, it is enough to ask of the lesser one.
    let (low, high) = match apart.as_number() {
        Some(number) => (number.into(), number.into()),
        None => apart.range(space)?,
    };
    (low >= 0 || high <= 0).then(|| if low >= 0 { a.clone() } else { b.clone() })
}

/// The test that fails everywhere.
fn never() -> Test {
    unsigned(Test::Zero(Index::number(1)))
}

/// A test with one of the two signs that a place has which is 0.
pub(crate) fn unsigned(test: Test) -> Test {
    match &test {
        Test::Zero(index) => index.scaled(-1).map_or(test.clone(), |turned| Test::Zero(turned).min(test)),
        Test::AtLeastZero(_) => test,
    }
}

/// The test that holds where another one fails.
pub(super) fn opposite(test: &Test) -> Option<Test> {
    match test {
        Test::AtLeastZero(index) => Some(Test::AtLeastZero(index.scaled(-1)?.plus(&Index::number(-1))?)),
        Test::Zero(_) => None,
    }
}

/// Tests over the slots of a term, over the dimensions of its user.
fn placed(tests: &[Test], map: &Map, space: &[Size]) -> Option<Vec<Test>> {
    let by = |Axis(n)| map.get(n as usize).cloned().unwrap_or(Index::ZERO);
    tests.iter().map(|test| Some(unsigned(test.of(test.index().substituted(&by, space)?)))).collect()
}
