//! Pipelines as text, and what the manager does with passes that change, fail and panic.

use std::cell::Cell;

use crate::common::{context, f32, function};
use ngc_ir::pass::*;
use ngc_ir::render::{RenderOptions, render};
use ngc_ir::{AttrDict, Context, Diagnostics, Loc, Module, Sources};

struct Count;
impl Pass for Count {
    fn name(&self) -> &'static str {
        "count"
    }
    fn summary(&self) -> &'static str {
        "Counts ops"
    }
    fn anchor(&self) -> Anchor {
        Anchor::Function
    }
    fn options(&self) -> &'static [OptionDef] {
        &[
            OptionDef { name: "max", kind: OptionKind::Int { default: 10, min: 1 }, doc: "" },
            OptionDef { name: "deep", kind: OptionKind::Bool(false), doc: "" },
            OptionDef { name: "file", kind: OptionKind::Str(""), doc: "" },
            OptionDef { name: "mode", kind: OptionKind::Choice(&["fast", "exact"]), doc: "" },
            OptionDef { name: "tolerance", kind: OptionKind::Float { default: 0.5, min: 0.0 }, doc: "" },
        ]
    }
    fn run_on_function(&self, f: &mut Function, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let n = cx.analysis::<Size>(f).0;
        cx.count("ops", n);
        let name = f.name().to_string();
        cx.remark(RemarkKind::Analysis, "count", f.loc.clone(), format!("@{name}")).arg("ops", n);
        Ok(Changed::No)
    }
}

/// Sets an attribute, so that something changed; keeps `Size` true.
struct Touch {
    preserves: bool,
}
impl Pass for Touch {
    fn name(&self) -> &'static str {
        if self.preserves { "touch-lightly" } else { "touch" }
    }
    fn summary(&self) -> &'static str {
        "Sets an attribute"
    }
    fn anchor(&self) -> Anchor {
        Anchor::Function
    }
    fn run_on_function(&self, f: &mut Function, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        f.attrs.set("t.touched", true);
        if self.preserves {
            cx.preserve::<Size>();
        }
        Ok(Changed::Yes)
    }
}

struct Fail;
impl Pass for Fail {
    fn name(&self) -> &'static str {
        "fail"
    }
    fn summary(&self) -> &'static str {
        "Fails on @g, panics on @p"
    }
    fn anchor(&self) -> Anchor {
        Anchor::Function
    }
    fn run_on_function(&self, f: &mut Function, _: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let mut errors = Diagnostics::default();
        match f.name() {
            "p" => panic!("a bug"),
            "g" => errors.error(f.loc.clone(), "cannot do @g"),
            _ => return Ok(Changed::No),
        }
        Err(errors)
    }
}

/// Leaves an invalid module.
struct Break;
impl Pass for Break {
    fn name(&self) -> &'static str {
        "break"
    }
    fn summary(&self) -> &'static str {
        "Erases the terminator"
    }
    fn anchor(&self) -> Anchor {
        Anchor::Module
    }
    fn run_on_module(&self, module: &mut Module, _: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        for op in module.functions() {
            let body = module.body.body_mut(op).unwrap();
            let last = body.last_op(body.entry().unwrap()).unwrap();
            body.unlink(last);
        }
        Ok(Changed::Yes)
    }
}

// One function is worked on in the thread of the test, so tests do not count for each other.
thread_local! {
    static COMPUTED: Cell<usize> = const { Cell::new(0) };
}
struct Size(usize);
impl Analysis for Size {
    fn compute(function: &Function, _: &Context) -> Size {
        COMPUTED.set(COMPUTED.get() + 1);
        Size(function.body.walk().len())
    }
}

const REGISTRY: Registry = Registry {
    passes: &[&Count, &Touch { preserves: false }, &Touch { preserves: true }, &Fail, &Break],
    pipelines: &[
        NamedPipeline { name: "both", summary: "", text: "builtin.module(func.func(touch,count{max=3}))" },
        NamedPipeline { name: "endless", summary: "", text: "builtin.module(endless)" },
    ],
};

fn parse(text: &str) -> Result<Pipeline, String> {
    let mut sources = Sources::new();
    let file = sources.add("<pipeline>", text, 1);
    Pipeline::parse(&REGISTRY, &sources, file)
        .map_err(|e| e.0.iter().map(|d| render(d, &sources, RenderOptions::default())).collect())
}

fn module(names: &[&str]) -> (Context, Module) {
    let context = context();
    let mut module = Module::new();
    for name in names {
        function(&mut module, &context, name, &[f32()], &[f32()], |b, x| {
            vec![b.emit("t.add", &[x[0], x[0]], AttrDict::EMPTY).unwrap()]
        });
    }
    (context, module)
}

#[test]
fn pipelines_print_in_canonical_form() {
    for (text, canonical) in [
        ("builtin.module()", "builtin.module()"),
        (
            " builtin.module ( func.func ( count { max = 3  deep } ) ) ",
            "builtin.module(func.func(count{max=3 deep=true}))",
        ),
        (
            "builtin.module(func.func(count),func.func(touch),break)",
            "builtin.module(func.func(count,touch),break)",
        ),
        ("builtin.module(func.func(count{max=10 mode=fast}))", "builtin.module(func.func(count))"),
        (
            r#"builtin.module(func.func(count{file="a \"b\" {c}" tolerance=1e-3}))"#,
            r#"builtin.module(func.func(count{file="a \"b\" {c}" tolerance=0.001}))"#,
        ),
        ("builtin.module(both,break)", "builtin.module(func.func(touch,count{max=3}),break)"),
    ] {
        let parsed = parse(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(parsed.to_string(), canonical);
        assert_eq!(parse(canonical).unwrap().to_string(), canonical);
    }
}

#[test]
fn errors_in_pipelines() {
    let texts = [
        "",
        "cse",
        "func.func(count)",
        "builtin.module(func.func(count)",
        "builtin.module(count)",
        "builtin.module(func.func(break))",
        "builtin.module(func.func(builtin.module(count)))",
        "builtin.module(func.func(cuont))",
        "builtin.module(func.func(xyzzy))",
        "builtin.module(func.func(both))",
        "builtin.module(endless)",
        "builtin.module(func.func(count{min=3}))",
        "builtin.module(func.func(touch{min=3}))",
        "builtin.module(func.func(count{max=0}))",
        "builtin.module(func.func(count{max}))",
        "builtin.module(func.func(count{tolerance=-1e-300}))",
        "builtin.module(func.func(count{tolerance=inf}))",
        "builtin.module(func.func(count{tolerance=1e999}))",
        "builtin.module(func.func(count{tolerance=nan}))",
        "builtin.module(func.func(count{max=1 max=2}))",
        "builtin.module(func.func(count{mode=loose}))",
        "builtin.module(func.func(count{max=\"1))",
        "builtin.module(,)",
        "builtin.module(func.func(count)) trailing",
    ];
    let mut all = String::new();
    for text in texts {
        let message = parse(text).map(|p| p.to_string()).expect_err(text);
        all.push_str(&format!("{text}\n{message}\n"));
    }
    insta::assert_snapshot!(all);
    let deep = format!("builtin.module({}", "func.func(".repeat(100_000));
    assert!(parse(&deep).map(|p| p.to_string()).unwrap_err().contains("nested too deeply"));
    // Brackets in quotes close nothing.
    let quoted =
        format!("builtin.module(count{{max=\"{}\"}},{}", ")".repeat(100), "func.func(".repeat(100_000));
    assert!(parse(&quoted).map(|p| p.to_string()).unwrap_err().contains("nested too deeply"));
}

#[test]
fn options_of_short_flags() {
    let step = |text| Step::new(&Count, text).map(|s| s.to_string());
    assert_eq!(step("").unwrap(), "count");
    assert_eq!(step("max=3 deep").unwrap(), "count{max=3 deep=true}");
    assert_eq!(step("max").unwrap_err(), "pass 'count': option 'max' needs a value: an integer, at least 1");
    assert!(step("max=3}{").is_err());
    let named = REGISTRY.pipeline("both").unwrap();
    assert_eq!(Pipeline::named(&REGISTRY, named, "").unwrap().steps.len(), 2);
    assert!(Pipeline::named(&REGISTRY, named, "max=4").is_err());
}

#[test]
fn remarks_and_statistics_come_in_the_order_of_functions() {
    let names: Vec<String> = (0..40).map(|i| format!("f{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (context, mut module) = module(&names);
    let run = PassManager::new(&context).run(&parse("builtin.module(both)").unwrap(), &mut module);
    assert!(run.failure.is_none());
    let found: Vec<String> = run.report.remarks.iter().map(|r| r.message.clone()).collect();
    let expected: Vec<String> = names.iter().map(|n| format!("@{n}")).collect();
    assert_eq!(found, expected);
    assert_eq!(run.report.remarks[0].args, [("ops", "2".to_string())]);
    assert_eq!(run.report.steps[1].statistics["ops"], 80);
    assert!(matches!(run.report.steps[0].changed, Changed::Yes));
}

#[test]
fn analyses_live_until_a_pass_changes_the_function() {
    let (context, mut module) = module(&["f"]);
    let mut computed = |text: &str| {
        let before = COMPUTED.get();
        let run = PassManager::new(&context).run(&parse(text).unwrap(), &mut module);
        assert!(run.failure.is_none());
        COMPUTED.get() - before
    };
    assert_eq!(computed("builtin.module(func.func(count,count,count))"), 1);
    assert_eq!(computed("builtin.module(func.func(count,touch,count))"), 2);
    assert_eq!(computed("builtin.module(func.func(count,touch-lightly,count))"), 1);
}

#[test]
fn failures_name_step_and_kind() {
    let run = |names: &[&str], text: &str| {
        let (context, mut module) = module(names);
        let run = PassManager::new(&context).run(&parse(text).unwrap(), &mut module);
        // Whatever happened, the functions are back in their module.
        assert_eq!(module.functions().len(), names.len());
        run.failure.map(|f| (f.step, f.kind, f.diagnostics.0.len()))
    };
    let errors = run(&["f", "g"], "builtin.module(func.func(count,fail),break)");
    assert_eq!(errors, Some((1, FailureKind::Errors, 1)));
    let panic = run(&["f", "p", "g"], "builtin.module(func.func(fail))");
    assert_eq!(panic.map(|f| f.1), Some(FailureKind::Panic("a bug (in @p)".into())));
    let invalid = run(&["f"], "builtin.module(break,func.func(count))");
    assert_eq!(invalid, Some((0, FailureKind::Invalid, 1)));
}

#[test]
fn verification_after_each_pass_can_be_turned_off() {
    let (context, mut module) = module(&["f"]);
    let mut manager = PassManager::new(&context);
    manager.verify_each = false;
    assert!(manager.run(&parse("builtin.module(break)").unwrap(), &mut module).failure.is_none());
}

#[test]
fn instrumentation_sees_every_step() {
    struct Log(std::rc::Rc<std::cell::RefCell<Vec<String>>>);
    impl Instrumentation for Log {
        fn before_step(&mut self, index: usize, step: &Step, module: &Module) {
            assert_eq!(module.functions().len(), 1);
            self.0.borrow_mut().push(format!("before {index} {step}"));
        }
        fn after_step(&mut self, index: usize, step: &Step, _: &Module, changed: Changed) {
            self.0.borrow_mut().push(format!("after {index} {step} {changed:?}"));
        }
        fn after_failure(&mut self, index: usize, step: &Step, _: &Module) {
            self.0.borrow_mut().push(format!("failure {index} {step}"));
        }
    }
    let (context, mut module) = module(&["g"]);
    let log = std::rc::Rc::default();
    let mut manager = PassManager::new(&context);
    manager.instrumentation.push(Box::new(Log(std::rc::Rc::clone(&log))));
    manager.run(&parse("builtin.module(func.func(touch,fail))").unwrap(), &mut module);
    let expected = ["before 0 touch", "after 0 touch Yes", "before 1 fail", "failure 1 fail"];
    assert_eq!(*log.borrow(), expected);
}

#[test]
fn remarks_are_two_lines_or_one() {
    let mut sources = Sources::new();
    let file = sources.add("model.ngir", "a\nbc\n", 1);
    let remark = Remark {
        kind: RemarkKind::Passed,
        pass: "stabilize",
        rule: "softmax-shift".into(),
        loc: Loc::Source { file, offset: 3 },
        message: "exp(x)/sum(exp(x)): by softmax; exp is unbounded".into(),
        details: "L inf -> 1".into(),
        args: vec![],
    };
    assert_eq!(
        remark.lines(&sources),
        "model.ngir:2:2: remark: [softmax-shift] exp(x)/sum(exp(x)): by softmax\n    exp is unbounded"
    );
    assert_eq!(
        remark.full_line(&sources),
        "model.ngir:2:2: remark: [softmax-shift] exp(x)/sum(exp(x)): by softmax; exp is unbounded; L inf -> 1"
    );
}
