//! Custom forms of dialects that are not registered, given by the reader: they become the ops of the generic form.

use crate::common;

use ngc_ir::text::{CustomForms, OpParser, ParseOptions, PrintOptions, parse_module, print_module};
use ngc_ir::{Diagnostic, Sources};

/// `toy.loop %a, %b times 3 {attributes} (%i: type) { ... } : type`.
static FORMS: CustomForms = CustomForms { dialects: &["toy"], read };

fn read(name: &str, p: &mut OpParser<'_, '_, '_>) -> Result<(), Diagnostic> {
    p.operands()?;
    if name == "toy.loop" {
        p.expect("times")?;
        let times = p.attribute()?;
        p.property("times", times);
        if let Some(attrs) = p.dictionary()? {
            p.attributes(&attrs);
        }
        p.expect("(")?;
        let argument = p.value_name()?;
        p.expect(":")?;
        let ty = p.ty()?;
        p.expect(")")?;
        p.region(&[(argument, ty)])?;
    }
    p.expect(":")?;
    let ty = p.ty()?;
    let inputs = vec![ty; p.num_operands()];
    p.signature(&inputs, &[ty])
}

fn parse(text: &str) -> Result<String, String> {
    let mut context = common::context();
    context.allow_unregistered = true;
    let mut sources = Sources::new();
    let file = sources.add("toy.mlir", text, 1);
    let options = ParseOptions { forms: Some(&FORMS), ..ParseOptions::default() };
    match parse_module(&context, &sources, file, &options) {
        Ok(module) => Ok(print_module(&module, &PrintOptions { generic: true, ..PrintOptions::default() })),
        Err(errors) => {
            let first = &errors.0[0];
            let place = sources
                .resolve(&first.loc)
                .map_or(String::new(), |(_, at)| format!("{}:{}: ", at.line, at.column));
            Err(format!("{place}{}", first.message))
        }
    }
}

#[test]
fn custom_forms_become_ops_of_the_generic_form() {
    let custom = "func.func @f(%a: f32) -> f32 {
      %0 = toy.loop %a, %a times 3 : i32 {quick} (%i: f32) {
        %1 = toy.use %i : f32
        toy.use %1 : f32
      } : f32 loc(\"here\")
      %1 = toy.loop %0 times 1 : i32 (%i: f32) { } : f32
      return %1 : f32
    }";
    let generic = "func.func @f(%a: f32) -> f32 {
      %0 = \"toy.loop\"(%a, %a) <{times = 3 : i32}> ({
      ^bb0(%i: f32):
        %1 = \"toy.use\"(%i) : (f32) -> f32
        %2 = \"toy.use\"(%1) : (f32) -> f32
      }) {quick} : (f32, f32) -> f32
      %1 = \"toy.loop\"(%0) <{times = 1 : i32}> ({
      ^bb0(%i: f32):
      }) : (f32) -> f32
      return %1 : f32
    }";
    assert_eq!(parse(custom), parse(generic));
    assert!(parse(custom).is_ok());
}

#[test]
fn errors_of_custom_forms_have_their_place() {
    let body = |text: &str| parse(&format!("func.func @f(%a: f32) -> f32 {{\n{text}\nreturn %a : f32\n}}"));
    for (text, message) in [
        ("%0 = toy.loop %a : f32", "2:18: expected 'times'"),
        ("%0 = toy.use %b : f32", "2:14: value %b is not defined"),
        ("%0, %1 = toy.use %a : f32", "2:1: 'toy.use' has 1 results, but 2 are named"),
        ("%0 = toy.loop %a times 1 : i32 (%a: f32) { } : f32", "2:33: value %a is defined twice"),
        (
            "%0 = other.use %a : f32",
            "2:6: operation 'other.use' is not registered; operations of unregistered dialects are read in generic form only, \"other.use\"(...)",
        ),
    ] {
        assert_eq!(body(text), Err(message.to_string()));
    }
}
