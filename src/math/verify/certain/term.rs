//! The floating-point operations behind a result on a part of the arguments, where integers, tables and branches are decided: a
//! question about roundings alone.

use std::collections::HashMap;
use std::fmt::Write;
use std::rc::Rc;

use ngc_numerics::expr::{Constant, Node};
use ngc_numerics::taylor::{Precision, RoundedGraph, Value};
use ngc_numerics::{Expr, Format, Prim};
use rug::Rational;

/// A value as it is computed.
pub enum Term {
    /// The argument.
    Argument(Format),
    /// A number of a format, or one that no format rounds.
    Number(f64, Precision),
    /// An operation, rounded or not.
    Apply(Prim, Vec<Rc<Term>>, Precision),
    /// A value in another format.
    Cast(Rc<Term>, Format),
}

impl Term {
    /// The operations as a graph whose output is this value.
    pub fn graph(&self) -> RoundedGraph {
        let mut graph = RoundedGraph::new();
        self.add(&mut graph, &mut HashMap::new());
        graph
    }

    fn add(&self, graph: &mut RoundedGraph, known: &mut HashMap<*const Term, Value>) -> Value {
        if let Some(&value) = known.get(&std::ptr::from_ref(self)) {
            return value;
        }
        let value = match self {
            Term::Argument(format) => graph.input(0, *format),
            Term::Number(x, precision) => graph.constant(rational(*x), *precision),
            Term::Apply(prim, x, precision) => {
                let x: Vec<Value> = x.iter().map(|x| x.add(graph, known)).collect();
                graph.apply(*prim, &x, *precision)
            }
            Term::Cast(x, format) => {
                let x = x.add(graph, known);
                graph.cast(x, *format)
            }
        };
        known.insert(std::ptr::from_ref(self), value);
        value
    }

    /// The value without any rounding, as a formula of variable 0.
    pub fn formula(&self) -> Expr {
        self.exact(&mut HashMap::new())
    }

    fn exact(&self, known: &mut HashMap<*const Term, Expr>) -> Expr {
        if let Some(formula) = known.get(&std::ptr::from_ref(self)) {
            return formula.clone();
        }
        let formula = match self {
            Term::Argument(_) => Expr::var(0),
            Term::Number(x, _) => Expr::from(Node::Const(rational(*x))),
            Term::Apply(prim, x, _) => Expr::apply(*prim, x.iter().map(|x| x.exact(known)).collect()),
            Term::Cast(x, _) => x.exact(known),
        };
        known.insert(std::ptr::from_ref(self), formula.clone());
        formula
    }

    /// The question as input of FPTaylor (A. Solovyev and others, 2019): how far the value may lie from what it is without rounding.
    pub fn fptaylor(&self, name: &str, from: f64, to: f64) -> String {
        let mut writer = Writer { lines: String::new(), known: HashMap::new(), argument: "float64" };
        let result = writer.write(self);
        let Writer { lines, argument, .. } = writer;
        let [from, to] = [from, to].map(exactly);
        format!(
            "Variables\n  {argument} x in [{from}, {to}];\nDefinitions\n{lines}Expressions\n  {name} = {result};\n"
        )
    }
}

/// A number as a constant; what is none has no value.
fn rational(x: f64) -> Constant {
    Rational::from_f64(x).map_or(Constant::Nan, Constant::Rational)
}

/// Writes definitions for FPTaylor.
struct Writer {
    lines: String,
    known: HashMap<*const Term, String>,
    argument: &'static str,
}

impl Writer {
    fn write(&mut self, term: &Term) -> String {
        if let Some(name) = self.known.get(&std::ptr::from_ref(term)) {
            return name.clone();
        }
        let rounding = |precision: Precision| match precision {
            None => "",
            Some(Format::F32) => " rnd32",
            Some(_) => " rnd64",
        };
        let (rounding, value) = match term {
            Term::Argument(format) => {
                self.argument = if *format == Format::F32 { "float32" } else { "float64" };
                return "x".into();
            }
            // The shortest decimals of a number are not the number, but for few.
            Term::Number(x, _) => return exactly(*x),
            Term::Cast(x, format) => (rounding(Some(*format)), self.write(x)),
            Term::Apply(prim, x, precision) => {
                let x: Vec<String> = x.iter().map(|x| self.write(x)).collect();
                let value = match prim {
                    Prim::Add => format!("{} + {}", x[0], x[1]),
                    Prim::Sub => format!("{} - {}", x[0], x[1]),
                    Prim::Mul => format!("{} * {}", x[0], x[1]),
                    Prim::Div => format!("{} / {}", x[0], x[1]),
                    Prim::Neg => format!("-{}", x[0]),
                    prim => format!("{}({})", prim.name(), x.join(", ")),
                };
                (rounding(*precision), value)
            }
        };
        let name = format!("v{}", self.known.len());
        let _ = writeln!(self.lines, "  {name}{rounding} = {value};");
        self.known.insert(std::ptr::from_ref(term), name.clone());
        name
    }
}

/// A number as an integer times a power of two.
fn exactly(x: f64) -> String {
    let value = Rational::from_f64(x).unwrap_or_default();
    let (numerator, denominator) = (value.numer(), value.denom());
    let text =
        if *denominator == 1 { format!("{numerator}") } else { format!("{numerator} / {denominator}") };
    format!("({text})")
}
