//! The comparison as a page: totals of each corpus, and the programs for which the second search is worse.

use std::fmt::Write;

use super::compare::{Compared, Rung, THREE};
use super::judge::Score;
use super::program::Program;
use crate::support::page::figure;

const GIVEN: usize = 0;
const FIRST: usize = 1;
const SECOND: usize = 2;

pub fn page(programs: &[Program], compared: &[Compared], options: &[String; 2]) -> String {
    let [first, second] = options;
    let mut text = format!(
        "# Two searches\n\nWhat `stabilize{{{first}}}` and `stabilize{{{second}}}` make of all programs that the repository has, beside \
         the programs as given; written by\n\n    NGC_BLESS=1 NGC_FIRST={first} NGC_SECOND={second} tools/differential\n\n\
         Inputs lie on a ladder of magnitudes over the whole format, within the ranges that are stated: of both signs, \
         nearly equal, equal, mixed, alone beside moderate ones, at the ends of ranges. *Lost*: elements that are not \
         finite although the exact value is a number of the format. *Bits*: the mean of log2(1 + error in units in the last \
         place), what is lost counts as all bits wrong. A program is *worse* on a rung if it loses more, or loses as much \
         and has an error of more than twice and 4 units in the last place. *Unsettled*: a second run changes the result. \
         *Other*: the result is another function over the reals at some point. Programs that neither search changes are counted as \
         *same*, and not measured.\n\n"
    );
    totals(&mut text, programs, compared);
    for (title, one, than) in [
        ("the second search is worse than the first", SECOND, FIRST),
        ("the second search is worse than the given program", SECOND, GIVEN),
        ("the first search is worse than the given program", FIRST, GIVEN),
    ] {
        rows(&mut text, title, (one, than), programs, compared);
    }
    remarks(&mut text, programs, compared);
    text
}

/// A line on a program that is done, where there is something to say at once.
pub fn progress(program: &Program, compared: &Compared) {
    let [first, second] = compared.time.map(|time| time.as_secs_f64());
    let worse = compared.worse(SECOND, FIRST).count();
    if worse > 0
        || second > 10.0 * first + 2.0
        || compared.other[1].is_some()
        || compared.failure[1].is_some()
    {
        let other = compared.other[1].as_ref().map_or("", |_| ", another function");
        let fails = compared.failure[1].as_ref().map_or("", |_| ", fails");
        eprintln!(
            "{}, {}: worse on {worse} rungs{other}{fails}; {first:.1} s and {second:.1} s",
            program.corpus, program.name
        );
    }
}

fn totals(text: &mut String, programs: &[Program], compared: &[Compared]) {
    text.push_str(
        "| corpus | programs | same | elements | lost given | first | second | bits given | first | second | worse than given: first | second | \
         second worse than first | better | unsettled first | second | other first | second |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut corpora: Vec<&str> = programs.iter().map(|p| p.corpus).collect();
    corpora.dedup();
    let mut seen: Vec<&str> = Vec::new();
    corpora.retain(|c| {
        !seen.contains(c) && {
            seen.push(c);
            true
        }
    });
    for corpus in corpora.into_iter().map(Some).chain([None]) {
        let rows: Vec<&Compared> = programs
            .iter()
            .zip(compared)
            .filter(|(p, c)| corpus.is_none_or(|corpus| p.corpus == corpus) && c.left_out.is_none())
            .map(|(_, c)| c)
            .collect();
        let mut total: [Score; THREE] = Default::default();
        for row in &rows {
            total.iter_mut().zip(row.total()).for_each(|(t, s)| t.merge(&s));
        }
        let worse = |one, than| rows.iter().filter(|c| c.worse(one, than).next().is_some()).count();
        let count = |what: &dyn Fn(&Compared) -> bool| rows.iter().filter(|c| what(c)).count();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {:.2} | {:.2} | {:.2} | {} | {} | {} | {} | {} | {} | {} | {} |",
            corpus.unwrap_or("all"),
            rows.len(),
            count(&|c| c.unchanged),
            total[GIVEN].count,
            total[GIVEN].lost,
            total[FIRST].lost,
            total[SECOND].lost,
            total[GIVEN].mean(),
            total[FIRST].mean(),
            total[SECOND].mean(),
            worse(FIRST, GIVEN),
            worse(SECOND, GIVEN),
            worse(SECOND, FIRST),
            worse(FIRST, SECOND),
            count(&|c| c.unsettled[0]),
            count(&|c| c.unsettled[1]),
            count(&|c| c.other[0].is_some()),
            count(&|c| c.other[1].is_some()),
        );
    }
}

/// A score in a few characters.
fn cell(score: &Score) -> String {
    let lost = if score.lost > 0 { format!("{} lost, ", score.lost) } else { String::new() };
    format!("{lost}{}", figure(score.worst))
}

fn rows(
    text: &mut String,
    title: &str,
    (one, than): (usize, usize),
    programs: &[Program],
    compared: &[Compared],
) {
    let mut found: Vec<(&Program, &Compared, Vec<&Rung>)> = programs
        .iter()
        .zip(compared)
        .map(|(p, c)| (p, c, c.worse(one, than).collect::<Vec<_>>()))
        .filter(|(_, _, rungs)| !rungs.is_empty())
        .collect();
    let worst = |rungs: &[&Rung]| -> (usize, f64) {
        let gap = |r: &&Rung| {
            let (a, b) = (&r.scores[one], &r.scores[than]);
            (a.lost.saturating_sub(b.lost), a.worst / (b.worst + 1.0))
        };
        let gaps = rungs.iter().map(gap);
        gaps.fold((0, 0.0), |a, b| if (b.0, b.1) > (a.0, a.1) { b } else { a })
    };
    found.sort_by(|a, b| {
        let (x, y) = (worst(&a.2), worst(&b.2));
        y.0.cmp(&x.0).then(y.1.total_cmp(&x.1)).then(a.0.name.cmp(&b.0.name))
    });
    let _ = writeln!(text, "\n## Where {title}: {} programs\n", found.len());
    if found.is_empty() {
        return;
    }
    let at = if one == SECOND && than == FIRST { " where, with the errors there | " } else { " " };
    let line = if one == SECOND && than == FIRST { "---|" } else { "" };
    let _ = writeln!(
        text,
        "| corpus | program | rungs | worst rung | given | first | second |{at}\n|---|---|---|---|---|---|---|{line}"
    );
    for (program, _, rungs) in found {
        let rung = rungs
            .iter()
            .copied()
            .max_by(|a, b| {
                let (x, y) = (worst(&[a]), worst(&[b]));
                x.0.cmp(&y.0).then(x.1.total_cmp(&y.1))
            })
            .expect("there is one");
        let [given, first, second] = rung.scores.each_ref().map(cell);
        let place = match &rung.place {
            Some((errors, place)) if !line.is_empty() => {
                let [x, y, z] = errors.map(figure);
                format!(" {place}: {x}, {y}, {z} |")
            }
            _ if !line.is_empty() => " |".into(),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {given} | {first} | {second} |{place}",
            program.corpus,
            program.name.replace('|', "\\|"),
            rungs.len(),
            figure(rung.size),
        );
    }
}

/// What else there is to say of programs.
fn remarks(text: &mut String, programs: &[Program], compared: &[Compared]) {
    text.push_str("\n## Remarks\n\n");
    for (program, c) in programs.iter().zip(compared) {
        let name = format!("{}, {}", program.corpus, program.name);
        for (n, which) in ["first", "second"].into_iter().enumerate() {
            if let Some(failure) = &c.failure[n] {
                let short: String = failure.chars().take(200).collect();
                let _ = writeln!(text, "- {name}: the {which} search fails: {}", short.replace('\n', " "));
            }
            if let Some(place) = &c.other[n] {
                let _ = writeln!(text, "- {name}: the {which} result is another function at {place}");
            }
            if c.unsettled[n] {
                let _ = writeln!(text, "- {name}: a second run of the {which} search changes its result");
            }
        }
        if let Some(reason) = c.left_out {
            let _ = writeln!(text, "- {name}: not measured: {reason}");
        }
        if c.large {
            let _ = writeln!(text, "- {name}: large, measured at {} points", c.points);
        }
    }
}
