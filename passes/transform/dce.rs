//! `dce`: erases what is unused.

use ngc_ir::Diagnostics;
use ngc_ir::pass::{Anchor, Changed, Function, Pass, PassContext, StatisticDef};

use super::erase_dead;

/// See the module.
pub struct Dce;

impl Pass for Dce {
    fn name(&self) -> &'static str {
        "dce"
    }

    fn summary(&self) -> &'static str {
        "Erase ops without effects whose results nobody uses"
    }

    fn anchor(&self) -> Anchor {
        Anchor::Function
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[StatisticDef { name: "erased", doc: "unused ops erased" }]
    }

    fn run_on_function(
        &self,
        function: &mut Function,
        cx: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        let erased = erase_dead(&mut function.body);
        cx.count("erased", erased);
        Ok((erased > 0).into())
    }
}
