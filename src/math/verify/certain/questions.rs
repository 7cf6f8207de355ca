//! The questions about roundings that a proof asks, for another program.

use ngc_ir::{Context, Diagnostic};

use super::follow::{Steps, Stop};
use super::parts::starts;
use super::{UNDECIDED, body_of, steps_of, unable};
use crate::check::Checked;
use crate::function::format_of;
use crate::text::Text;

/// The most questions that are written.
const MOST_QUESTIONS: usize = 10_000;

/// The questions that a proof asks about roundings, as input of FPTaylor: one for each part of a range on which integers, tables and
/// branches are decided.
///
/// # Errors
/// As [`certain`](super::certain), and when there are too many parts, or something is none of the steps that are followed.
pub fn questions(
    context: &Context,
    checked: &Checked,
    text: &Text,
    range: (f64, f64),
) -> Result<Vec<String>, Diagnostic> {
    let fail = |message: String| Diagnostic::error(text.loc.clone(), message);
    let module = steps_of(context, checked)?;
    let steps = Steps::new(body_of(&module, text)?).map_err(fail)?;
    let format = format_of(text);
    let mut parts: Vec<(f64, f64)> = starts(format, range).into_iter().rev().collect();
    let mut all = Vec::new();
    while let Some((lo, hi)) = parts.pop() {
        let followed = steps.follow(lo, hi, false);
        let at = match followed.result {
            Ok(result) => {
                let (term, _) = result.unrounded.as_ref().unwrap_or(&(result.term.clone(), 0)).clone();
                all.push(term.fptaylor(&format!("{}{}", text.name, all.len()), lo, hi));
                continue;
            }
            Err(Stop::Unable(what)) => return Err(fail(unable(&what))),
            Err(_) if lo == hi => return Err(fail(UNDECIDED.into())),
            Err(_) => steps.cut(lo, hi, followed.decided.len()),
        };
        if all.len() + parts.len() > MOST_QUESTIONS {
            return Err(fail(format!(
                "has more than {MOST_QUESTIONS} parts there: ask about a shorter range"
            )));
        }
        parts.push((format.next_up(at), hi));
        parts.push((lo, at));
    }
    Ok(all)
}
