//! Pages of docs/ whose sections are written by tests.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ngc_passes::digits::{trimmed, up};

/// A page: what it says first, and its sections in order.
pub struct Page {
    pub file: &'static str,
    pub introduction: &'static str,
    pub sections: &'static [&'static str],
    /// What renews it.
    pub command: &'static str,
}

static WRITING: Mutex<()> = Mutex::new(());

impl Page {
    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(self.file)
    }

    /// As [`Page::state`], of a section that is a table: of the rows that are looked at, all or some.
    pub fn state_rows(&self, section: &str, heading: &str, rows: &[String], all: bool) {
        if all {
            return self.state(section, &(heading.to_string() + &rows.concat()));
        }
        let page = std::fs::read_to_string(self.path()).unwrap_or_default();
        let found = stated(&page, section).unwrap_or_default();
        let is_there = |row: &String| found.lines().any(|line| line == row.trim_end());
        let (file, command) = (self.file, self.command);
        let wrong: Vec<&str> = rows.iter().filter(|row| !is_there(row)).map(String::as_str).collect();
        assert!(
            found.starts_with(heading.trim_end()) && wrong.is_empty(),
            "docs/{file} is out of date in '{section}'; `{command}` renews it. Today it has\n{}",
            wrong.concat()
        );
    }

    /// Under `NGC_BLESS=1` puts a section into the page, else holds the page to it.
    pub fn state(&self, section: &str, text: &str) {
        assert!(self.sections.contains(&section), "'{section}' is no section of {}", self.file);
        let path = self.path();
        let _alone = WRITING.lock().unwrap_or_else(|e| e.into_inner());
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        let found = |title: &str| stated(&old, title);
        let text = text.trim_end();
        if std::env::var_os("NGC_BLESS").is_none() {
            let (file, command) = (self.file, self.command);
            assert!(
                found(section).as_deref() == Some(text) && old.starts_with(self.introduction),
                "docs/{file} is out of date in '{section}'; `{command}` renews it. Today it is\n{text}"
            );
            return;
        }
        let mut page = self.introduction.to_string();
        for &title in self.sections {
            let body = if title == section { Some(text.to_string()) } else { found(title) };
            page.push_str(&body.map_or(String::new(), |body| format!("\n## {title}\n\n{body}\n")));
        }
        std::fs::write(&path, page).expect("the page can be written");
    }
}

/// A section of a page.
fn stated(page: &str, title: &str) -> Option<String> {
    let rest = page.split_once(&format!("\n## {title}\n\n"))?.1;
    Some(rest.split("\n## ").next().unwrap_or(rest).trim_end().to_string())
}

/// A figure in a table: three digits, or that it is not finite.
pub fn figure(x: f64) -> String {
    trimmed(few(x))
}

/// A bound in a table, rounded up.
pub fn bound(x: f64) -> String {
    trimmed(up(x, few))
}

fn few(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if !x.is_finite() => x.to_string(),
        x if (0.01..1000.0).contains(&x.abs()) => format!("{x:.2}"),
        x => format!("{x:.1e}"),
    }
}
