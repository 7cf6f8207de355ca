//! What a search may use: families of laws, charts, and the ops and formats of a machine.

use ngc_ir::{Body, Ident, Op};
use ngc_numerics::Format;
use ngc_reals::laws::Laws;
use rustc_hash::FxHashSet;

use super::catalogue;
use super::target::Target;
use super::window::moves;

/// What a search may use; by default everything.
#[derive(Clone, Debug)]
pub struct Allowed<'a> {
    /// Names of laws and charts; nothing for all.
    names: Option<FxHashSet<Ident>>,
    target: Option<&'a Target>,
}

impl<'a> Allowed<'a> {
    /// Everything.
    pub const ALL: Allowed<'static> = Allowed { names: None, target: None };

    /// The families of a list such as `roots,charts`, `all` for every one, on a machine.
    ///
    /// # Errors
    /// A sentence that names a family that there is not, and those that there are.
    pub fn new(laws: &Laws, families: &str, target: Option<&'a Target>) -> Result<Allowed<'a>, String> {
        let chosen = catalogue::chosen(laws, families.split(',').map(str::trim))?;
        let names = chosen.map(|families| {
            let members = families.into_iter().flat_map(|family| catalogue::members(laws, family));
            members.map(|entry| Ident::new(entry.name())).collect()
        });
        Ok(Allowed { names, target })
    }

    /// Whether a law or a chart may be used.
    pub fn law(&self, name: Ident) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(&name))
    }

    /// Whether an op that computes something may be brought in.
    pub fn op(&self, name: &str) -> bool {
        self.target.is_none_or(|target| target.has(name))
    }

    /// What an op costs.
    pub fn cost(&self, name: &str) -> f64 {
        self.target.map_or(1.0, |target| target.cycles(name))
    }

    /// Whether a format may be brought in.
    pub fn format(&self, format: Format) -> bool {
        self.target.is_none_or(|target| target.computes(format))
    }

    /// Whether an op of a body may be brought in: constants are data, and every machine moves data.
    pub fn brings(&self, body: &Body, op: Op) -> bool {
        let data = body.op(op);
        let Some(target) = self.target else { return true };
        if target.has(data.name.as_str()) || body.is_constant(op) {
            return true;
        }
        body.num_results(op) == 1 && moves(body, op)
    }
}
