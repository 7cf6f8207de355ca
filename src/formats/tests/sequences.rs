//! Sequences of tensors in ONNX models.

use ngc_formats::onnx::proto::*;

use crate::support::*;

/// A model of `a`, `b` and `c`, with the numbers -2 to 3 under the names `m2`, `m1`, `p0` to `p3`.
fn sequences(nodes: Vec<NodeProto>) -> ModelProto {
    with_graph(model(nodes), |g| {
        g.input = ["a", "b", "c"].map(|name| value(name, 1, &["2", "3"])).to_vec();
        let number = |(name, n): (&str, i64)| TensorProto { dims: vec![], ..ints(name, &[n]) };
        let names = ["m2", "m1", "p0", "p1", "p2", "p3"];
        g.initializer = names.into_iter().zip(-2..).map(number).collect();
    })
}

/// The argument that the model gives back.
fn given_back(nodes: Vec<NodeProto>) -> usize {
    let module = read(&sequences(nodes)).unwrap();
    let body = body(&module);
    let entry = body.entry().unwrap();
    let last = body.ops(entry).last().unwrap();
    body.arguments(entry).iter().position(|argument| *argument == body.operands(last)[0]).unwrap()
}

fn with(mut node: NodeProto, attributes: &[(&str, i64)]) -> NodeProto {
    node.attribute = attributes.iter().map(|&(name, i)| int(name, i)).collect();
    node
}

#[test]
fn what_is_taken_out_is_what_was_put_in() {
    let construct = || node("SequenceConstruct", &["a", "b"], &["s"]);
    let at = |sequence: &str, place: &str| node("SequenceAt", &[sequence, place], &["y"]);
    assert_eq!(given_back(vec![construct(), at("s", "p1")]), 1);
    assert_eq!(given_back(vec![construct(), at("s", "m2")]), 0);
    // Python's places: before the last one, at the end, and behind it.
    for (place, found) in [("m1", [0, 2, 1]), ("p2", [0, 1, 2]), ("p0", [2, 0, 1]), ("", [0, 1, 2])] {
        let insert = node("SequenceInsert", &["s", "c", place], &["t"]);
        for (at_place, found) in ["p0", "p1", "p2"].into_iter().zip(found) {
            assert_eq!(given_back(vec![construct(), insert.clone(), at("t", at_place)]), found, "{place}");
        }
    }
    let erased = |place: &str| vec![construct(), node("SequenceErase", &["s", place], &["t"]), at("t", "p0")];
    assert_eq!(given_back(erased("m2")), 1);
    assert_eq!(given_back(erased("")), 0);
    let empty =
        vec![node("SequenceEmpty", &[], &["s"]), node("SequenceInsert", &["s", "c"], &["t"]), at("t", "m1")];
    assert_eq!(given_back(empty), 2);
}

#[test]
fn parts_are_concatenated_again() {
    let concat = |attributes: &[(&str, i64)]| with(node("ConcatFromSequence", &["s"], &["y"]), attributes);
    let split = |size: &str, attributes: &[(&str, i64)]| {
        with(node("SplitToSequence", &["a", size], &["s"]), attributes)
    };
    let shape = |nodes: Vec<NodeProto>| {
        let module = read(&sequences(nodes)).unwrap();
        let body = body(&module);
        let last = body.ops(body.entry().unwrap()).last().unwrap();
        body.ty(body.operands(last)[0]).to_string()
    };
    assert_eq!(shape(vec![split("p2", &[("axis", 1)]), concat(&[("axis", -1)])]), "tensor<2x3xf32>");
    assert_eq!(shape(vec![split("", &[("axis", 1)]), concat(&[("axis", 0)])]), "tensor<6x1xf32>");
    let stacked = concat(&[("axis", -1), ("new_axis", 1)]);
    assert_eq!(shape(vec![split("", &[("axis", 0), ("keepdims", 0)]), stacked]), "tensor<3x2xf32>");
    let count = node("SequenceLength", &["s"], &["y"]);
    assert_eq!(shape(vec![split("p2", &[("axis", 1)]), count]), "tensor<i64>");
}

#[test]
fn a_graph_takes_each_element() {
    let mut map = node("SequenceMap", &["s", "c"], &["t"]);
    map.attribute = vec![AttributeProto {
        name: Some("body".into()),
        r#type: Some(5),
        g: Some(Box::new(GraphProto {
            node: vec![node("Mul", &["e", "o"], &["r"])],
            input: ["e", "o"].map(|name| value(name, 1, &["2", "3"])).to_vec(),
            output: vec![ValueInfoProto { name: Some("r".into()), ..Default::default() }],
            ..Default::default()
        })),
        ..Default::default()
    }];
    let nodes = vec![
        node("SequenceConstruct", &["a", "b"], &["s"]),
        map,
        with(node("ConcatFromSequence", &["t"], &["y"]), &[("axis", 0)]),
    ];
    let module = read(&sequences(nodes)).unwrap();
    let body = body(&module);
    let names: Vec<_> = body.ops(body.entry().unwrap()).map(|op| body.name(op).to_string()).collect();
    assert_eq!(names, ["ng.mul", "ng.mul", "ng.concat", "func.return"]);
}

#[test]
fn what_is_wrong_is_named() {
    let construct = || node("SequenceConstruct", &["a", "b"], &["s"]);
    let wrong = |node: NodeProto| read(&sequences(vec![construct(), node])).err().unwrap().to_string();
    assert!(wrong(node("SequenceAt", &["s", "p2"], &["y"])).contains("axis 2 is out of range"));
    assert!(wrong(node("SequenceInsert", &["s", "c", "p3"], &["y"])).contains("axis 3 is out of range"));
    assert!(wrong(node("SequenceAt", &["a", "p0"], &["y"])).contains("'a' is no sequence"));
    assert!(wrong(node("Exp", &["s"], &["y"])).contains("'s' is a sequence"));
    assert!(wrong(node("SequenceErase", &["s", "p0"], &["y"])).contains("'y' is a sequence"));
    assert!(wrong(node("ConcatFromSequence", &["s"], &["y"])).contains("'axis' is missing"));
    assert!(wrong(node("SplitToSequence", &["a", "p0"], &["y"])).contains("parts of 0 elements"));
}
