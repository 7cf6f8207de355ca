//! Formulas of directives and of terms: sums, products and powers, functions by their names, `pi`, and variables such as `x`.

use ngc_numerics::expr::{Constant, Node};
use ngc_numerics::program::Program;
use ngc_numerics::{Big, Enclosure, Expr, Prim};
use rug::{Float, Integer, Rational};

/// Deeper brackets are refused.
const DEEPEST: usize = 64;

/// The greatest exponent of ten in a number, so that none fills the memory.
const GREATEST_EXPONENT: i32 = 400;

/// Bits of a value that must be sure.
const WANTED: u32 = 80;

/// Reads a formula of `x` and `i`.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn read(text: &str) -> Result<Expr, String> {
    read_of(text, &["x", "i"])
}

/// Reads a formula of these variables.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn read_of(text: &str, variables: &[&str]) -> Result<Expr, String> {
    let mut reader = Reader { rest: text, depth: 0, variables };
    let formula = reader.sum()?;
    match reader.peek() {
        None => Ok(formula),
        Some(_) => Err(format!("the formula '{text}' ends before '{}'", reader.rest.trim_start())),
    }
}

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
    variables: &'t [&'t str],
}

impl<'t> Reader<'t> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(sign);
        if found {
            self.rest = &self.rest[sign.len_utf8()..];
        }
        found
    }

    /// The longest beginning whose characters all are of a kind.
    fn word(&mut self, part: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn sum(&mut self) -> Result<Expr, String> {
        let mut value = if self.take('-') { -self.product()? } else { self.product()? };
        loop {
            value = if self.take('+') {
                value + self.product()?
            } else if self.take('-') {
                value - self.product()?
            } else {
                return Ok(value);
            };
        }
    }

    fn product(&mut self) -> Result<Expr, String> {
        let mut value = self.power()?;
        loop {
            value = if self.take('*') {
                value * self.power()?
            } else if self.take('/') {
                value / self.power()?
            } else {
                return Ok(value);
            };
        }
    }

    fn power(&mut self) -> Result<Expr, String> {
        let base = self.primary()?;
        if !self.take('^') {
            return Ok(base);
        }
        let exponent = if self.take('-') { -self.primary()? } else { self.primary()? };
        Ok(Expr::apply(Prim::Pow, vec![base, exponent]))
    }

    fn primary(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("brackets are nested more than {DEEPEST} levels deep"));
        }
        let value = match self.peek() {
            Some('(') => {
                self.take('(');
                let value = self.sum()?;
                self.close()?;
                value
            }
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some(c) if c.is_ascii_alphabetic() => self.named()?,
            Some(c) => return Err(format!("a formula has no '{c}'")),
            None => return Err("the formula is not complete".into()),
        };
        self.depth -= 1;
        Ok(value)
    }

    fn close(&mut self) -> Result<(), String> {
        if self.take(')') { Ok(()) } else { Err(format!("')' is missing before '{}'", self.rest)) }
    }

    fn number(&mut self) -> Result<Expr, String> {
        let text = self.word(|c| c.is_ascii_digit() || c == '.');
        let (whole, places) = text.split_once('.').unwrap_or((text, ""));
        let digits =
            Integer::parse(format!("{whole}{places}")).map_err(|e| format!("'{text}' is no number: {e}"))?;
        let scale = Integer::from(Integer::u_pow_u(10, places.len() as u32));
        let mut value = Rational::from((Integer::from(digits), scale));
        let exponent = self.exponent()?;
        let power = Rational::from(Integer::from(Integer::u_pow_u(10, exponent.unsigned_abs())));
        value = if exponent < 0 { value / power } else { value * power };
        Ok(Node::Const(Constant::Rational(value)).into())
    }

    /// What stands behind the `e` of a number.
    fn exponent(&mut self) -> Result<i32, String> {
        let after = self.rest.strip_prefix(['e', 'E']);
        let size = after.map(|rest| rest.trim_start_matches(['-', '+']));
        if !size.is_some_and(|size| size.starts_with(|c: char| c.is_ascii_digit())) {
            return Ok(0);
        }
        self.rest = after.unwrap_or(self.rest);
        let sign = if self.take('-') { -1 } else { 1 };
        self.take('+');
        let text = self.word(|c| c.is_ascii_digit());
        let size = text.parse::<i32>().ok().filter(|n| *n <= GREATEST_EXPONENT);
        Ok(sign * size.ok_or_else(|| format!("the exponent {text} is greater than {GREATEST_EXPONENT}"))?)
    }

    fn named(&mut self) -> Result<Expr, String> {
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        if let Some(n) = self.variables.iter().position(|known| *known == name) {
            return Ok(Expr::var(n));
        }
        if name == "pi" {
            return Ok(Expr::pi());
        }
        let prim = Prim::ALL.iter().copied().find(|p| p.name() == name);
        let prim = prim.ok_or_else(|| format!("there is no function '{name}'"))?;
        if !self.take('(') {
            return Err(format!("'{name}' takes {} operands in brackets", prim.arity()));
        }
        let mut operands = vec![self.sum()?];
        while self.take(',') {
            operands.push(self.sum()?);
        }
        self.close()?;
        if operands.len() != prim.arity() {
            return Err(format!("'{name}' takes {} operands, not {}", prim.arity(), operands.len()));
        }
        Ok(Expr::apply(prim, operands))
    }
}

/// A formula ready for evaluation at high precision.
pub struct Formula {
    program: Program,
    constants: Vec<Enclosure<Float>>,
    domain: Big,
    bits: u32,
}

impl Formula {
    /// A formula, evaluated in so many bits.
    pub fn new(formula: &Expr, bits: u32) -> Formula {
        let (program, domain) = (Program::new(formula), Big::new(bits));
        Formula { constants: program.enclose_constants(&domain), program, domain, bits }
    }

    /// The value at `x` and `i`; beside a place where the formula has none, such as 0 of `sin(x)/x`, that nearby.
    pub fn at(&self, x: &Float, i: usize) -> Option<Float> {
        let value = self.enclosed(x, i);
        value.or_else(|| {
            let step = Float::with_val(self.bits, 1) >> (self.bits / 4);
            self.enclosed(&Float::with_val(self.bits, x + step), i)
        })
    }

    fn enclosed(&self, x: &Float, i: usize) -> Option<Float> {
        let points = [Enclosure::point(x.clone()), Enclosure::point(Float::with_val(self.bits, i))];
        let value = self.program.enclose(&self.domain, &self.constants, &[], &points);
        let width = Float::with_val(self.bits, &value.hi - &value.lo);
        let middle = (value.lo + value.hi) / 2u32;
        // An enclosure that says less than any format holds is no value.
        let enough = Float::with_val(self.bits, middle.clone().abs() >> WANTED);
        (!value.may_be_nan && middle.is_finite() && (width.is_zero() || width <= enough)).then_some(middle)
    }
}
