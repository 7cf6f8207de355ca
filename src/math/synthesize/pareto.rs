//! The Pareto set: a table, a picture, and a file that `select` reads.

use std::fmt::Write;

/// A term, and what was found of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The term.
    pub term: String,
    /// Its steps.
    pub assembly: String,
    /// The least number at which it was verified.
    pub from: f32,
    /// The greatest number at which it was verified.
    pub to: f32,
    /// The ends of its range, as they are written.
    pub range: (String, String),
    /// The largest error, in units in the last place.
    pub max_ulp: f64,
    /// Where it is.
    pub at: f64,
    /// Whether all numbers of the range were looked at.
    pub exhaustive: bool,
    /// The cost of its steps.
    pub cost: f64,
    /// Nanoseconds an element, where that was measured.
    pub time: Option<f64>,
}

impl Entry {
    /// What is to be small: the time, or the cost where no time is known.
    pub fn slowness(&self) -> f64 {
        self.time.unwrap_or(self.cost)
    }

    /// Whether it is no worse than another in anything.
    fn covers(&self, other: &Entry) -> bool {
        self.max_ulp <= other.max_ulp
            && self.slowness() <= other.slowness()
            && self.from <= other.from
            && self.to >= other.to
    }
}

/// The entries that no other one covers, from the fastest on.
pub fn set(entries: Vec<Entry>) -> Vec<Entry> {
    let mut kept: Vec<Entry> = Vec::new();
    for entry in entries {
        if kept.iter().any(|k| k.covers(&entry)) {
            continue;
        }
        kept.retain(|k| !entry.covers(k));
        kept.push(entry);
    }
    kept.sort_by(|a, b| a.slowness().total_cmp(&b.slowness()).then(a.max_ulp.total_cmp(&b.max_ulp)));
    kept
}

fn established(entry: &Entry) -> &'static str {
    if entry.exhaustive { "all inputs" } else { "estimate" }
}

/// The set as a table.
pub fn table(function: &str, entries: &[Entry]) -> String {
    let mut text = String::from(
        "| file | range | max error, ulp | established | ns | cost | term |\n|---|---|---|---|---|---|---|\n",
    );
    for (n, e) in entries.iter().enumerate() {
        let time = e.time.map_or("-".into(), |t| format!("{t:.3}"));
        let _ = writeln!(
            text,
            "| {} | [{}, {}] | {:.4} | {} | {time} | {:.1} | `{}` |",
            file(function, n),
            e.range.0,
            e.range.1,
            e.max_ulp,
            established(e),
            e.cost,
            e.term
        );
    }
    text
}

/// The name of the file of an entry.
pub fn file(function: &str, n: usize) -> String {
    format!("{function}-{}.impl", n + 1)
}

/// The assembly of an entry, with the term that it was made of.
pub fn implementation(function: &str, entry: &Entry) -> String {
    format!(
        "// Made of a term, whose type says that it is {function} on [{}, {}]; of other numbers it says nothing. Largest error {:.6} ulp at \
         {:?} ({}).\n//   {}\n{}",
        entry.range.0,
        entry.range.1,
        entry.max_ulp,
        entry.at,
        established(entry),
        entry.term,
        entry.assembly
    )
}

/// The set as JSON.
pub fn json(function: &str, entries: &[Entry]) -> String {
    let quoted = |s: &str| format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text =
        format!("{{\n  \"function\": {},\n  \"format\": \"f32\",\n  \"entries\": [\n", quoted(function));
    for (n, e) in entries.iter().enumerate() {
        let time = e.time.map_or("null".into(), |t| format!("{t:?}"));
        let _ = writeln!(
            text,
            "    {{\"file\": {}, \"from\": {:?}, \"to\": {:?}, \"max_ulp\": {:?}, \"at\": {:?}, \"established\": {}, \"ns\": {time}, \
             \"cost\": {:?}, \"term\": {}}}{}",
            quoted(&file(function, n)),
            f64::from(e.from),
            f64::from(e.to),
            e.max_ulp,
            e.at,
            quoted(established(e)),
            e.cost,
            quoted(&e.term),
            if n + 1 < entries.len() { "," } else { "" }
        );
    }
    text + "  ]\n}\n"
}

/// Sizes of the picture.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const MARGIN: f64 = 60.0;

/// The set as a picture: error to the right, time upwards.
pub fn svg(function: &str, entries: &[Entry]) -> String {
    let most = |of: &dyn Fn(&Entry) -> f64| entries.iter().map(of).fold(0.0, f64::max).max(1e-9) * 1.1;
    let (widest, highest) = (most(&|e| e.max_ulp), most(&|e| e.slowness()));
    let measured = entries.iter().all(|e| e.time.is_some());
    let unit = if measured { "ns an element" } else { "cost of the steps" };
    let at = |e: &Entry| {
        let x = MARGIN + (WIDTH - 2.0 * MARGIN) * e.max_ulp / widest;
        let y = HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * e.slowness() / highest;
        (x, y)
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{MARGIN}\" y=\"30\">{function}: largest error and {unit}</text>\n"
    );
    let (bottom, right) = (HEIGHT - MARGIN, WIDTH - MARGIN);
    let _ = writeln!(
        text,
        "<path d=\"M {MARGIN} {MARGIN} L {MARGIN} {bottom} L {right} {bottom}\" fill=\"none\" stroke=\"black\"/>"
    );
    for part in 0..=4 {
        let share = f64::from(part) / 4.0;
        let (x, y) = (MARGIN + (right - MARGIN) * share, bottom - (bottom - MARGIN) * share);
        let _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.2}</text>",
            bottom + 18.0,
            widest * share
        );
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.3}</text>",
            MARGIN - 6.0,
            y + 4.0,
            highest * share
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">ulp</text>",
        WIDTH / 2.0,
        HEIGHT - 20.0
    );
    for (n, entry) in entries.iter().enumerate() {
        let (x, y) = at(entry);
        let title = entry.term.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"steelblue\"><title>{title}</title></circle>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 6.0,
            y - 6.0,
            n + 1
        );
    }
    text + "</svg>\n"
}
