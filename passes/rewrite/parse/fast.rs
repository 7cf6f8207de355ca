//! A short cut for rule files without errors, which the bundled ones are: pest takes two thirds of the time that a start of
//! ngc-opt needs.
//!
//! The grammar decides what the language is. This reader looks at the bytes directly and gives up at whatever it does not
//! expect; the grammar then says what is wrong, or that nothing is. Tests read texts in both ways.

use ngc_ir::{Ident, Loc};

use super::{MAX_OPERANDS, closed, full_name, stated};
use crate::rewrite::rule::{Expr, Infix, Label, OpPattern, Pattern, Rule};

/// How tightly operators bind, as the table for pest says.
const NOT: u8 = 2;
const NEGATIVE: u8 = 6;

/// The rules of a file; nothing if it must be read by the grammar. Brackets must not be nested too deeply.
pub fn parse(text: &str, file: u16) -> Option<Vec<Rule>> {
    let mut cursor = Cursor { text, pos: 0, end: 0, file };
    let mut rules = Vec::new();
    cursor.blanks();
    while cursor.pos < text.len() {
        rules.push(cursor.rule()?);
    }
    Some(rules)
}

struct Cursor<'t> {
    text: &'t str,
    pos: usize,
    /// Where the last symbol ends.
    end: usize,
    file: u16,
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Each method reads a part and the blanks behind it.
impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.pos..]
    }

    fn byte(&self) -> u8 {
        self.rest().first().copied().unwrap_or(0)
    }

    fn loc(&self) -> Loc {
        Loc::Source { file: self.file, offset: self.pos as u32 }
    }

    fn blanks(&mut self) {
        self.end = self.pos;
        loop {
            match self.rest() {
                [b' ' | b'\t'..=b'\r', ..] => self.pos += 1,
                [b'/', b'/', b'/', ..] => break,
                [b'/', b'/', ..] => self.pos += self.line().len(),
                _ => break,
            }
        }
    }

    /// What is left of the line.
    fn line(&self) -> &'t str {
        let rest = &self.text[self.pos..];
        &rest[..rest.find('\n').unwrap_or(rest.len())]
    }

    fn sees(&self, symbol: &str) -> bool {
        self.rest().starts_with(symbol.as_bytes())
    }

    fn eats(&mut self, symbol: &str) -> bool {
        let eaten = self.sees(symbol);
        if eaten {
            self.pos += symbol.len();
            self.blanks();
        }
        eaten
    }

    fn eat(&mut self, symbol: &str) -> Option<()> {
        self.eats(symbol).then_some(())
    }

    /// A word of letters, digits, `_` and what else is `allowed`.
    fn word(&mut self, allowed: &[u8]) -> Option<&'t str> {
        let word = self.peek(allowed);
        word.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| {
            self.pos += word.len();
            self.blanks();
            word
        })
    }

    fn peek(&self, allowed: &[u8]) -> &'t str {
        let long = self.rest().iter().take_while(|b| in_word(**b) || allowed.contains(b)).count();
        &self.text[self.pos..self.pos + long]
    }

    fn rule(&mut self) -> Option<Rule> {
        let mut doc = String::new();
        while self.sees("///") {
            let line = self.line();
            doc.push_str(line[3..].trim());
            doc.push('\n');
            self.pos += line.len();
            self.blanks();
        }
        (self.word(b"-")? == "rule").then_some(())?;
        let (start, loc) = (self.pos, self.loc());
        let name = self.lower(b"-").filter(|name| !name.contains('_'))?;
        self.eat(":")?;
        let category = self.word(b"-+").filter(|sets| sets.split('+').all(is_category))?;
        self.eat(",")?;
        let label = self.word(b"-").and_then(Label::from_name)?;
        let left = self.pattern()?;
        let both_ways = self.eats("<=>");
        if !both_ways {
            self.eat("=>")?;
        }
        let right = self.pattern()?;
        let mut rule = Rule {
            name: name.into(),
            doc,
            category: category.into(),
            label,
            left,
            right,
            both_ways,
            conditions: Vec::new(),
            benefits: Vec::new(),
            bounds: Vec::new(),
            loc,
            text: String::new(),
            file: String::new(),
        };
        while matches!(self.byte(), b'w' | b'b') {
            self.clause(&mut rule)?;
        }
        rule.text = format!("rule {}", &self.text[start..self.end]);
        Some(rule)
    }

    fn clause(&mut self, rule: &mut Rule) -> Option<()> {
        let kind = self.word(b"")?;
        loop {
            let loc = self.loc();
            let e = self.expr()?;
            match kind {
                "where" => rule.conditions.push(e),
                "when" => rule.benefits.push(e),
                "bound" => rule.bounds.push(stated(e, loc)?),
                _ => return None,
            }
            if !self.eats(",") {
                return Some(());
            }
        }
    }

    /// A name that begins with a small letter.
    fn lower(&mut self, allowed: &[u8]) -> Option<&'t str> {
        self.byte().is_ascii_lowercase().then(|| self.word(allowed))?
    }

    fn variable(&mut self) -> Option<Ident> {
        (self.byte() == b'?').then(|| self.pos += 1)?;
        self.word(b"").map(Ident::new)
    }

    fn pattern(&mut self) -> Option<Pattern> {
        let loc = self.loc();
        match self.byte() {
            b'?' => {
                let name = self.variable()?;
                if self.eats("@") {
                    let at = self.loc();
                    let op = self.lower(b".")?;
                    Some(Pattern::Op(OpPattern { bind: Some(name), ..self.op(op, at)? }))
                } else if self.eats(":") {
                    (self.word(b"")? == "const").then_some(Pattern::Const(name, loc))
                } else {
                    Some(Pattern::Var(name, loc))
                }
            }
            b'-' => {
                self.pos += 1;
                self.number().map(|n| Pattern::Number(-n, loc))
            }
            b'0'..=b'9' => self.number().map(|n| Pattern::Number(n, loc)),
            _ => {
                let name = self.lower(b".")?;
                self.term(name, loc)
            }
        }
    }

    /// A term that begins with a name.
    fn term(&mut self, name: &str, loc: Loc) -> Option<Pattern> {
        let term = match name {
            "inf" => return Some(Pattern::Number(f64::INFINITY, loc)),
            "const" => {
                self.eat("(")?;
                Pattern::Computed(self.expr()?, loc)
            }
            "rounded" => {
                self.eat("(")?;
                let term = self.pattern()?;
                Pattern::Rounded(closed(&term)?.to_f64(), Box::new(term), loc)
            }
            "rational" => {
                self.eat("(")?;
                Pattern::Rational(Box::new(self.pattern()?), loc)
            }
            _ => return self.op(name, loc).map(Pattern::Op),
        };
        self.eat(")")?;
        Some(term)
    }

    fn op(&mut self, name: &str, loc: Loc) -> Option<OpPattern> {
        let (_, own) = name.split_once('.').unwrap_or(("", name));
        let plain = own.starts_with(|c: char| c.is_ascii_alphanumeric()) && !own.contains('.');
        if !plain || name.starts_with("inf") {
            return None;
        }
        let mut op = OpPattern { op: full_name(name), bind: None, args: Vec::new(), attrs: Vec::new(), loc };
        self.eat("(")?;
        if self.eats(")") {
            return Some(op);
        }
        loop {
            let loc = self.loc();
            match self.lower(b".") {
                Some(name) if self.eats("=") => {
                    (!name.contains('.')).then_some(())?;
                    op.attrs.push((Ident::new(name), self.expr()?));
                }
                Some(name) => op.args.push(self.term(name, loc)?),
                None => op.args.push(self.pattern()?),
            }
            if !self.eats(",") {
                self.eat(")")?;
                return Some(op);
            }
        }
    }

    /// A number without a sign.
    fn number(&mut self) -> Option<f64> {
        if self.peek(b"") == "inf" {
            self.word(b"");
            return Some(f64::INFINITY);
        }
        let end = |mut at: usize| {
            while self.rest().get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let at = |n: usize| self.rest().get(n).copied().unwrap_or(0);
        let mut long = end(0);
        if at(long) == b'.' {
            long = end(long + 1);
        }
        if matches!(at(long), b'e' | b'E') {
            long = end(long + 1 + usize::from(matches!(at(long + 1), b'+' | b'-')));
        }
        let text = &self.text[self.pos..self.pos + long];
        // A point or an exponent without digits is for the grammar to judge, and so is a word on a number's heels.
        let whole =
            text.ends_with(|c: char| c.is_ascii_digit()) && !text.contains(".e") && !text.contains(".E");
        if !whole || in_word(at(long)) {
            return None;
        }
        self.pos += long;
        self.blanks();
        text.parse().ok()
    }

    fn expr(&mut self) -> Option<Expr> {
        let mut parts = 0;
        self.binds(0, &mut parts).filter(|_| parts <= MAX_OPERANDS)
    }

    /// An expression of operators that bind more tightly than `least`. Counts operators and operands.
    fn binds(&mut self, least: u8, parts: &mut usize) -> Option<Expr> {
        *parts += 1;
        if *parts > MAX_OPERANDS {
            return None;
        }
        let mut left = if self.eats("-") {
            Expr::Neg(Box::new(self.binds(NEGATIVE - 1, parts)?))
        } else if self.peek(b"") == "not" {
            self.word(b"");
            Expr::Not(Box::new(self.binds(NOT - 1, parts)?))
        } else {
            self.primary()?
        };
        while let Some((infix, sign, binding)) = self.infix().filter(|i| i.2 > least) {
            self.eat(sign)?;
            *parts += 1;
            let right = self.binds(binding, parts)?;
            left = Expr::Binary(infix, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn infix(&self) -> Option<(Infix, &'static str, u8)> {
        Some(match self.rest() {
            [b'=', b'=', ..] => (Infix::Eq, "==", 3),
            [b'!', b'=', ..] => (Infix::Ne, "!=", 3),
            [b'<', b'=', b'>', ..] => return None,
            [b'<', b'=', ..] => (Infix::Le, "<=", 3),
            [b'>', b'=', ..] => (Infix::Ge, ">=", 3),
            [b'<', ..] => (Infix::Lt, "<", 3),
            [b'>', ..] => (Infix::Gt, ">", 3),
            [b'+', ..] => (Infix::Add, "+", 4),
            [b'-', ..] => (Infix::Sub, "-", 4),
            [b'*', ..] => (Infix::Mul, "*", 5),
            [b'/', b'/', ..] => return None,
            [b'/', ..] => (Infix::Div, "/", 5),
            _ if self.peek(b"") == "or" => (Infix::Or, "or", 1),
            _ => return None,
        })
    }

    fn primary(&mut self) -> Option<Expr> {
        let loc = self.loc();
        Some(match self.byte() {
            b'?' => Expr::Var(self.variable()?, loc),
            b'0'..=b'9' => Expr::Number(self.number()?),
            b'[' => {
                self.eat("[")?;
                Expr::List(self.list("]")?)
            }
            b'(' => {
                self.eat("(")?;
                let inner = self.expr()?;
                self.eat(")")?;
                inner
            }
            first => match self.word(b"")? {
                "inf" => Expr::Number(f64::INFINITY),
                name if name.starts_with("inf_") => return None,
                name if self.byte() == b'(' => {
                    first.is_ascii_lowercase().then(|| self.eat("("))??;
                    Expr::Call(Ident::new(name), self.list(")")?, loc)
                }
                name => Expr::Word(Ident::new(name)),
            },
        })
    }

    fn list(&mut self, end: &str) -> Option<Vec<Expr>> {
        let mut items = Vec::new();
        if self.eats(end) {
            return Some(items);
        }
        loop {
            items.push(self.expr()?);
            if !self.eats(",") {
                self.eat(end)?;
                return Some(items);
            }
        }
    }
}

/// Whether every part of a word with hyphens begins with a letter, as the grammar wants.
fn is_category(word: &str) -> bool {
    word.split('-').all(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()))
}
