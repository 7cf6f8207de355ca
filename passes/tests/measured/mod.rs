//! What `stabilize` does, measured: the sections of docs/stabilize.md. Seeds are fixed, so the page says the same on every
//! machine.

mod claims;
mod correlation;
mod layers;
mod networks;
mod patterns;

use crate::support::page::Page;

const PAGE: Page = Page {
    file: "stabilize.md",
    introduction: INTRODUCTION,
    sections: &["Ten patterns", "Layers", "Correlation", "Networks"],
    command: COMMAND,
};

const COMMAND: &str = "NGC_BLESS=1 cargo test -p ngc-passes --test all measured";

const INTRODUCTION: &str = "\
# What stabilize does, measured

The tables are written by `NGC_BLESS=1 cargo test -p ngc-passes --test all measured`, which also checks them: a test fails when
one is out of date. Seeds are fixed. *Exact* is evaluation at 1 000 bits and more; *before* and *after* are
the computations as they would run, every op rounded in its format. Times are measured by `benches/stabilize.py`, bits of
error of formulas stand in [formulas.md](formulas.md).

## What is claimed, and what is not

G is the function as written, G* as it leaves, Φ(ε) = L ε + Δ the bound of the error of its result where its arguments have
errors up to ε.

- *Both stay near each other.* Over the reals G = G*, so the computed results differ by at most Φ_G(0) + Φ_G*(0): each
  differs from the same real value by its own bound. This number is printed (`[BOUND]`), and for each rewrite as C u.
- *α = cost(G*) / cost(G)* is the ratio of the bounds: relative ones, or absolute ones where no relative one was finite. Forms
  are ranked at points, not by bounds, so that a form may have a greater worst case over the box of inputs: then α is above 1,
  and printed so. Where there was no finite bound there is no α, and `inf -> finite` says what became of it.
- *Φ_G*(ε) ≤ α Φ_G(ε) + O(ε²) is false.* G and G* are one function over the reals, with one true Lipschitz constant L, and
  no rewrite lowers that: Φ_G*(ε) ≥ L ε. Where Φ_G is sharp, Φ_G(ε) = L ε + Δ, the claim says L ε (1 - α) ≤ α Δ, which fails
  for every α < 1 once ε is greater than α Δ / ((1 - α) L). α speaks of the errors that rounding adds, and
  says nothing of those that come with the arguments. It fails beyond that because bounds are not sharp: a² - b² has the
  Lipschitz constants 2 max |a| and 2 max |b| term by term, while (a - b)(a + b), whose rounding errors are far smaller, is
  bounded by max |a + b| + max |a - b| in each. [The test](../passes/tests/measured/claims.rs) holds both.
- *Nor is the error on one input ever α times what it was.* α compares worst cases.
";
