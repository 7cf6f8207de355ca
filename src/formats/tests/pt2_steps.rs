//! Scans and maps of PyTorch that cannot be read step by step.

use ngc_formats::FormatError;
use ngc_ir::Module;
use serde_json::{Value, json};

use crate::pt2::{invalid, unsupported, with_graph_of};

/// The program of scans and a map, in which one of these is changed.
fn with(target: &str, change: impl FnOnce(&mut Value, &mut Value)) -> Result<Module, FormatError> {
    with_graph_of("steps", |graph| {
        let target = format!("torch.ops.higher_order.{target}");
        let nodes = graph["nodes"].as_array_mut().unwrap();
        let at = nodes.iter().position(|node| node["target"] == json!(target)).unwrap();
        let mut node = nodes[at].clone();
        change(&mut node, &mut graph["tensor_values"]);
        graph["nodes"][at] = node;
    })
}

#[test]
fn steps_that_cannot_be_counted_are_refused() {
    let rows = |rows: Value| with("scan", |_, values| values["x"]["sizes"][0] = rows);
    assert!(rows(json!({"as_int": 5})).is_ok());
    unsupported(
        rows(json!({"as_expr": {"expr_str": "Symbol('s')"}})),
        "rows of which the number is not known",
    );
    unsupported(rows(json!({"as_int": 0})), "called 0 times");
    unsupported(rows(json!({"as_int": 1_000_000})), "called 1000000 times");
    unsupported(rows(json!({"as_int": -1})), "called 0 times");
    let point = with("map_impl", |_, values| values["x"]["sizes"] = json!([]));
    invalid(point, "a value without dimensions");
}

#[test]
fn broken_steps_are_refused() {
    invalid(with("scan", |node, _| node["inputs"].as_array_mut().unwrap().truncate(3)), "a list is missing");
    invalid(with("scan", |node, _| node["inputs"] = json!([])), "a call of no graph");
    invalid(
        with("scan", |node, _| node["inputs"][2]["arg"]["as_tensors"] = json!([])),
        "steps over no values",
    );
    let number = with("map_impl", |node, _| node["inputs"][2]["arg"] = json!({"as_int": 3}));
    unsupported(number, "what is no tensor");
    let unknown =
        with("map_impl", |node, _| node["inputs"][1]["arg"]["as_tensors"][0]["name"] = json!("nowhere"));
    invalid(unknown, "nothing is said of 'nowhere'");
    let fewer = with("scan", |node, _| {
        node["outputs"].as_array_mut().unwrap().pop();
    });
    invalid(fewer, "1 values for 2");
    let more = with("map_impl", |node, _| {
        let results = node["outputs"].as_array_mut().unwrap();
        results.push(results[0].clone());
    });
    invalid(more, "2 values for 1");
    let state = with("scan", |node, _| {
        let part = &mut node["inputs"][0]["arg"]["as_graph"]["graph"];
        part["outputs"] = json!([]);
    });
    invalid(state, "of which 1 are handed on");
}
