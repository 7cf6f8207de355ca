//! Conditions in words.

use crate::rewrite::conditions::FUNCTIONS;
use crate::rewrite::rule::{Expr, Infix, Side};

/// A condition as a sentence without its full stop: `lo(?x) > 0` is "the lower end of the exact range of ?x is above 0".
pub fn condition(e: &Expr) -> String {
    match e {
        Expr::Binary(Infix::Or, a, b) => format!("{}, or {}", condition(a), condition(b)),
        Expr::Binary(op, a, b) => {
            let relation = match op {
                Infix::Eq => "is",
                Infix::Ne => "is not",
                Infix::Le => "is at most",
                Infix::Ge => "is at least",
                Infix::Lt => "is below",
                Infix::Gt => "is above",
                _ => return quantity(e),
            };
            format!("{} {relation} {}", quantity(a), quantity(b))
        }
        Expr::Not(e) => format!("it is not so that {}", condition(e)),
        Expr::Call(name, args, _) => match (doc(name.as_str()), &args[..]) {
            (Some(doc), [first]) => format!("of {first}: {doc}"),
            (Some(doc), [first, rest @ ..]) => {
                let rest: Vec<String> = rest.iter().map(ToString::to_string).collect();
                format!("of {first} and {}: {doc}", rest.join(", "))
            }
            _ => e.to_string(),
        },
        _ => e.to_string(),
    }
}

/// What a stated bound speaks of.
pub fn side(of: Side) -> &'static str {
    match of {
        Side::Left => "the error of the left side",
        Side::Right => "the error of the right side",
        Side::Difference => {
            "the difference of the sides over the reals, by the rounding of constants on the left"
        }
    }
}

fn doc(function: &str) -> Option<&'static str> {
    FUNCTIONS.iter().find(|f| f.name == function).map(|f| f.doc)
}

fn quantity(e: &Expr) -> String {
    match e {
        Expr::Call(name, args, _) => match (doc(name.as_str()), &args[..]) {
            (Some(doc), [arg]) => format!("the {doc} of {}", quantity(arg)),
            (Some(doc), [first, rest @ ..]) => {
                let rest: Vec<String> = rest.iter().map(quantity).collect();
                format!("the {doc} (of {}, {})", quantity(first), rest.join(", "))
            }
            _ => e.to_string(),
        },
        Expr::Binary(op, a, b) => format!("{} {} {}", grouped(a), op.symbol(), grouped(b)),
        Expr::Neg(e) => format!("-{}", grouped(e)),
        _ => e.to_string(),
    }
}

fn grouped(e: &Expr) -> String {
    match e {
        Expr::Binary(..) => format!("({})", quantity(e)),
        _ => quantity(e),
    }
}
