//! Functions, branches and loops of ONNX models, models specialised on their inputs, and what their nodes tell of their
//! source.

use crate::support::*;
use ngc_formats::FormatError;
use ngc_formats::onnx::proto::*;
use ngc_formats::onnx::{ImportOptions, import};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::{Attr, Module};
use ngc_numerics::{DType, Format, Tensor};
use prost::Message;

fn names(values: &[&str]) -> Vec<String> {
    values.iter().map(|s| s.to_string()).collect()
}

fn output(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.into()), ..Default::default() }
}

fn inner(nodes: Vec<NodeProto>, inputs: &[&str], outputs: &[&str]) -> GraphProto {
    let infos = |names: &[&str]| names.iter().map(|name| output(name)).collect();
    GraphProto { node: nodes, input: infos(inputs), output: infos(outputs), ..Default::default() }
}

/// A function of the domain `local`.
fn function(name: &str, inputs: &[&str], outputs: &[&str], nodes: Vec<NodeProto>) -> FunctionProto {
    FunctionProto {
        name: Some(name.into()),
        domain: Some("local".into()),
        input: names(inputs),
        output: names(outputs),
        node: nodes,
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(20) }],
        ..Default::default()
    }
}

fn call(name: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto { domain: Some("local".into()), ..node(name, inputs, outputs) }
}

fn with_functions(nodes: Vec<NodeProto>, functions: Vec<FunctionProto>) -> ModelProto {
    ModelProto { functions, ..model(nodes) }
}

#[test]
fn functions_are_inlined_with_their_attributes_and_missing_inputs() {
    let mut elu = node("Elu", &["a"], &["e"]);
    elu.attribute = vec![AttributeProto {
        name: Some("alpha".into()),
        r#type: Some(1),
        ref_attr_name: Some("slope".into()),
        ..Default::default()
    }];
    // The bounds of Clip are optional inputs, and so are those of the function.
    let body = vec![elu, node("Clip", &["e", "low", "high"], &["c"])];
    let mut f = function("bent", &["a", "low", "high"], &["c"], body);
    f.attribute = names(&["slope"]);
    let mut one = call("bent", &["x", "", "w"], &["h"]);
    one.attribute = vec![AttributeProto {
        name: Some("slope".into()),
        r#type: Some(1),
        f: Some(0.5),
        ..Default::default()
    }];
    let two = call("bent", &["h"], &["y"]);
    let m = with_graph(with_functions(vec![one, two], vec![f]), |g| g.input.push(value("w", 1, &[])));
    let module = read(&m).unwrap();
    assert_eq!(op_names(&module), ["ng.elu", "ng.min", "ng.elu", "func.return"]);
    let text = print_module(&module, &PrintOptions { debuginfo: true, ..PrintOptions::default() });
    assert!(text.contains("alpha = 5.000000e-01 : f64"), "{text}");
    assert!(text.contains("#loc2 = loc(\"the_Elu\")\n#loc3 = loc(\"the_bent\")"), "{text}");
    assert!(text.contains("callsite(#loc2 at #loc3)"), "{text}");
}

#[test]
fn functions_do_not_call_themselves_or_grow_without_bound() {
    let nested = with_functions(
        vec![call("f", &["x"], &["y"])],
        vec![
            function("f", &["a"], &["b"], vec![call("g", &["a"], &["b"])]),
            function("g", &["a"], &["b"], vec![call("f", &["a"], &["b"])]),
        ],
    );
    let error = invalid(&nested);
    assert!(error.contains("node 0 'the_g' (g): node 0 'the_f' (f): the function calls itself"), "{error}");

    // Each function calls the next one 64 times.
    let chain = |depth: usize, calls: usize| {
        let functions = (0..depth).map(|i| {
            let places: Vec<String> = (0..=calls).map(|k| format!("v{k}")).collect();
            let nodes = (0..calls).map(|k| call(&format!("f{}", i + 1), &[&places[k]], &[&places[k + 1]]));
            function(&format!("f{i}"), &["v0"], &[&places[calls]], nodes.collect())
        });
        let last = function(&format!("f{depth}"), &["a"], &["b"], vec![node("Exp", &["a"], &["b"])]);
        with_functions(vec![call("f0", &["x"], &["y"])], functions.chain([last]).collect())
    };
    assert!(unsupported(&chain(8, 64)).contains("make more than 262144 nodes"));
    assert!(unsupported(&chain(1000, 1)).contains("nested deeper than 32"));
    assert_eq!(op_names(&read(&chain(20, 1)).unwrap()), ["ng.exp", "func.return"]);

    let twice = vec![function("f", &[], &[], vec![]), function("f", &[], &[], vec![])];
    assert!(invalid(&with_functions(vec![], twice)).contains("is defined twice"));
    let few = with_functions(
        vec![call("f", &["x", "x"], &["y"])],
        vec![function("f", &["a"], &["b"], vec![node("Exp", &["a"], &["b"])])],
    );
    assert!(invalid(&few).contains("2 inputs for a function of 1"));
}

/// y = x + x if `condition`, else -x.
fn conditional(condition: &str) -> NodeProto {
    let mut choose = node("If", &[condition], &["y"]);
    choose.attribute = vec![
        graph("then_branch", inner(vec![node("Add", &["x", "x"], &["p"])], &[], &["p"])),
        graph("else_branch", inner(vec![node("Neg", &["x"], &["m"])], &[], &["m"])),
    ];
    choose
}

#[test]
fn branches_are_taken_or_chosen() {
    let truth = |t: i32| TensorProto {
        name: Some("c".into()),
        data_type: Some(9),
        int32_data: vec![t],
        ..Default::default()
    };
    let constant = |t| with_graph(model(vec![conditional("c")]), |g| g.initializer = vec![truth(t)]);
    assert_eq!(op_names(&read(&constant(1)).unwrap()), ["ng.add", "func.return"]);
    assert_eq!(op_names(&read(&constant(0)).unwrap()), ["ng.neg", "func.return"]);

    let given = with_graph(model(vec![conditional("c")]), |g| g.input.push(value("c", 9, &[])));
    assert!(op_names(&read(&given).unwrap()).ends_with(&["ng.add", "ng.neg", "ng.where", "func.return"]));
    let two = with_graph(given, |g| {
        let mut nodes = std::mem::take(&mut g.node);
        nodes[0].attribute[1] =
            graph("else_branch", inner(vec![node("Transpose", &["x"], &["m"])], &[], &["m"]));
        g.node = nodes;
    });
    assert!(unsupported(&two).contains("the condition depends on the data"));
}

fn turning(times: i64, condition: Option<NodeProto>) -> ModelProto {
    let mut nodes = vec![node("Exp", &["v"], &["w"])];
    let on = match condition {
        Some(node) => {
            nodes.push(node);
            "on"
        }
        None => "go",
    };
    let mut repeat = node("Loop", &["n", "", "x"], &["y"]);
    repeat.attribute = vec![graph("body", inner(nodes, &["i", "go", "v"], &[on, "w"]))];
    with_graph(model(vec![repeat]), |g| {
        g.initializer = vec![ints("n", &[times])];
        g.initializer[0].dims = vec![];
    })
}

#[test]
fn loops_turn_as_often_as_they_say() {
    assert_eq!(op_names(&read(&turning(3, None)).unwrap()), ["ng.exp", "ng.exp", "ng.exp", "func.return"]);
    assert_eq!(op_names(&read(&turning(0, None)).unwrap()), ["func.return"]);
    assert!(unsupported(&turning(1 << 40, None)).contains("more than 1024 turns"));
    let until = node("Not", &["go"], &["on"]);
    assert_eq!(op_names(&read(&turning(9, Some(until))).unwrap()), ["ng.exp", "func.return"]);
    let mut sum = node("IsNaN", &["w"], &["on"]);
    sum.name = Some("watch".into());
    let data = with_graph(turning(9, Some(sum)), |g| g.input[0] = value("x", 1, &[]));
    assert!(unsupported(&data).contains("whether it goes on after turn 0 depends on the data"));
    let unknown = with_graph(turning(1, None), |g| {
        g.initializer.clear();
        g.input.push(value("n", 7, &[]));
    });
    assert!(unsupported(&unknown).contains("input 0 'n' (trip count) is not a constant"));
}

#[test]
fn graphs_within_nodes_nest_only_so_deep() {
    let mut within = inner(vec![node("Exp", &["x"], &["v"])], &[], &["v"]);
    for _ in 0..40 {
        let mut choose = node("If", &["c"], &["v"]);
        choose.attribute = vec![graph("then_branch", within.clone()), graph("else_branch", within)];
        within = inner(vec![choose], &[], &["v"]);
        if within.encoded_len() > 1 << 16 {
            break;
        }
    }
    // Twice as many graphs on each level, and the message as deep as protobuf lets it be.
    let m = with_graph(model(vec![]), |g| {
        g.node = within.node.clone();
        g.node[0].output = names(&["y"]);
        g.input.push(value("c", 9, &[]));
    });
    let _ = read(&m);
}

fn specialise(m: &ModelProto, inputs: Vec<Tensor>) -> Result<Module, FormatError> {
    let options = ImportOptions { inputs, ..ImportOptions::default() };
    import(&ngc_dialects::context(), &m.encode_to_vec(), &options)
}

#[test]
fn models_are_specialised_on_given_inputs_alone() {
    let nodes = vec![node("Add", &["s", "s"], &["t"]), node("Tile", &["x", "t"], &["y"])];
    let m = with_graph(model(nodes), |g| g.input.push(value("s", 7, &["n"])));
    assert!(unsupported(&m).contains("input 1 't' (repeats) is not a constant"));
    let x = Tensor::floats(Format::F32, vec![3, 4], vec![0.5; 12]).unwrap();
    let s = Tensor::ints(DType::Int(64), vec![2], vec![1, 2]).unwrap();
    let module = specialise(&m, vec![x.clone(), s.clone()]).unwrap();
    let text = print_module(&module, &PrintOptions::default());
    assert!(text.contains("ng.tile %arg0 {repeats = [2, 4]}"), "{text}");
    assert!(text.contains("%arg1: tensor<2xi64> {ng.name = \"s\", ng.specialized}"), "{text}");
    assert!(!text.contains("%arg0: tensor<3x4xf32> {ng.name = \"x\", ng.specialized}"), "{text}");
    let error = specialise(&m, vec![s.clone(), s]).err().unwrap();
    assert_eq!(
        error,
        FormatError::Invalid("input 'x': it must be tensor<?x4xf32>, but is tensor<2xi64>".into())
    );
}

#[test]
fn what_pytorch_says_of_a_node_becomes_its_location() {
    let trace = "File \"net.py\", line 3, in <module>\n  main()\nFile \"layers/mlp.py\", line 41, in forward\n  return x.exp()";
    let mut exp = node("Exp", &["x"], &["y"]);
    exp.metadata_props = vec![
        entry("pkg.torch.onnx.stack_trace", trace),
        entry("pkg.torch.onnx.name_scopes", "['', 'body.3']"),
    ];
    let mut m = model(vec![exp]);
    m.metadata_props = vec![entry("author", "me")];
    let module = read(&m).unwrap();
    let text = print_module(&module, &PrintOptions { debuginfo: true, ..PrintOptions::default() });
    assert!(text.contains("\"layers/mlp.py\":41:1"), "{text}");
    assert!(text.contains("\"the_Exp\"(#"), "{text}");
    assert!(text.contains("pkg.torch.onnx.name_scopes = \"['', 'body.3']\""), "{text}");
    let Some(Attr::Dict(metadata)) = module.attrs.get("onnx.metadata") else { panic!("{text}") };
    assert_eq!(metadata.get("author").and_then(Attr::as_str), Some("me"));

    // What ngc wrote of an op's origin comes back.
    let mut exp = node("Exp", &["x"], &["y"]);
    exp.metadata_props = vec![entry("ngc.loc", "loc(callsite(\"a\"(\"m.py\":3:4) at \"b\"))")];
    let module = read(&model(vec![exp])).unwrap();
    let text = print_module(&module, &PrintOptions { debuginfo: true, ..PrintOptions::default() });
    assert!(text.contains("\"m.py\":3:4") && text.contains("callsite("), "{text}");

    // Whatever else stands there is kept as it is.
    for odd in ["", "File \"", "File \"a\", line 99999999999", "File \"a\", line 0, in b"] {
        let mut exp = node("Exp", &["x"], &["y"]);
        exp.metadata_props =
            vec![entry("pkg.torch.onnx.stack_trace", odd), entry("", ""), entry("ngc.loc", odd)];
        read(&model(vec![exp])).unwrap();
    }
}
