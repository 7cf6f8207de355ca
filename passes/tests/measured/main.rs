//! What `stabilize` does, measured: the sections of docs/stabilize.md. Seeds are fixed, so the page says the same on every
//! machine.

#[path = "../support/mod.rs"]
mod support;

mod correlation;
mod layers;
mod networks;
mod patterns;
mod rules;

use support::page::Page;

const PAGE: Page = Page {
    file: "stabilize.md",
    introduction: INTRODUCTION,
    sections: &["Ten patterns", "Layers", "Correlation", "Networks", "Rules"],
    command: COMMAND,
};

const COMMAND: &str = "NGC_BLESS=1 cargo test -p ngc-passes --test measured";

const INTRODUCTION: &str = "\
# What stabilize does, measured

The tables are written by `NGC_BLESS=1 cargo test -p ngc-passes --test measured`, which also checks them: a test fails when
one is out of date. Seeds are fixed. *Exact* is evaluation at 1 000 bits and more; *before* and *after* are
the computations as they would run, every op rounded in its format. Times are measured by `benches/stabilize.py`, bits of
error of formulas stand in [formulas.md](formulas.md).
";
