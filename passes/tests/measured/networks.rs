//! Networks with heads and norms in naive spellings: how they amplify errors before and after.

use ngc_numerics::Format;

use super::PAGE;
use crate::support::evidence;
use crate::support::networks::{NETWORKS, Net};
use crate::support::page::bound;
use crate::support::{errors, function, search};

#[test]
fn no_network_amplifies_more_than_before() {
    let context = ngc_dialects::context();
    let heading = "Random weights by Glorot's rule, inputs in [-1, 1], f32. Norms, silu and softmax are spelt out as\n\
         [the test](../passes/tests/support/networks.rs) has them. *Path* is the largest product of Lipschitz constants along a\n\
         path from an input to a result, *curvature* the sum of κ^curv over all ops, *bound* that of the absolute error of\n\
         the result: all bounds over the whole range of inputs.\n\n\
         | network | path before | after | curvature before | after | bound before | after |\n|---|---|---|---|---|---|---|\n";
    let mut rows = Vec::new();
    for (name, shape, make) in evidence::sampled("pages", NETWORKS.len(), NETWORKS) {
        let (mut net, x) = Net::new(&context, Format::F32, 3003, shape);
        let y = make(&mut net, x);
        let mut module = net.module(y, (-1.0, 1.0));
        let op = function(&module).0;
        let figures = |m: &ngc_ir::Module| {
            let e = errors(m);
            [e.largest_path(), e.total_curvature(), e.absolute(e.results()[0])]
        };
        let before = figures(&module);
        search(&context, &mut module, op, false);
        let after = figures(&module);
        let cells: Vec<String> =
            before.iter().zip(&after).flat_map(|(b, a)| [bound(*b), bound(*a)]).collect();
        rows.push(format!("| {name} | {} |\n", cells.join(" | ")));
    }
    println!("{heading}{}", rows.concat());
    println!("certificate: {} networks amplify no more than before", rows.len());
    PAGE.state_rows("Networks", heading, &rows, rows.len() == NETWORKS.len());
}
