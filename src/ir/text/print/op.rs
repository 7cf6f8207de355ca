//! Operations, regions, modules.

use rustc_hash::{FxHashMap, FxHashSet};

use super::PrintOptions;
use super::loc::LocAliases;
use super::names::{Counters, Name, Names};
use crate::attributes::{Attr, AttrDict};
use crate::body::{Block, Body, Op, Region, Value};
use crate::ident::Ident;
use crate::location::Loc;
use crate::module::Module;
use crate::op_def::Syntax;
use crate::types::Type;

/// Prints into one buffer.
pub(super) struct Printer<'a> {
    pub out: String,
    pub options: &'a PrintOptions<'a>,
    pub aliases: LocAliases,
    pub types: FxHashMap<Type, Box<str>>,
    /// Keys of the resources used so far, in the order of their first use.
    pub resources: Vec<Ident>,
    pub resources_seen: FxHashSet<Ident>,
    indent: usize,
}

/// What a module is called, whose op does not lie in a body.
const MODULE: &str = "builtin.module";
/// Attributes of a module that are properties in generic form.
const MODULE_PROPERTIES: [&str; 2] = ["sym_name", "sym_visibility"];

impl<'a> Printer<'a> {
    pub fn new(options: &'a PrintOptions<'a>, aliases: LocAliases) -> Printer<'a> {
        Printer {
            out: String::new(),
            options,
            aliases,
            types: FxHashMap::default(),
            resources: Vec::new(),
            resources_seen: FxHashSet::default(),
            indent: 0,
        }
    }

    pub fn finish_aliases(&mut self) -> LocAliases {
        std::mem::take(&mut self.aliases)
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', 2 * self.indent));
    }

    /// A module with the resources that it uses.
    pub fn module(&mut self, module: &Module) {
        // About what a small elementwise op takes.
        self.out.reserve(48 * module.body.num_ops());
        self.module_op(&module.attrs, &module.loc, &module.body, Counters::default(), "builtin");
        self.out.push('\n');
        let used = std::mem::take(&mut self.resources);
        let blobs = used.iter().filter_map(|key| Some((key, module.resources.get(key.as_str())?)));
        let mut separator = "\n{-#\n  dialect_resources: {\n    builtin: {\n      ";
        for (key, blob) in blobs {
            self.out.push_str(separator);
            separator = ",\n      ";
            self.keyword(key.as_str());
            self.out.push_str(": \"0x");
            self.hex(&blob.alignment.to_le_bytes());
            self.hex(&blob.bytes);
            self.out.push('"');
        }
        if separator.starts_with(',') {
            self.out.push_str("\n    }\n  }\n#-}\n");
        }
    }

    fn module_op(&mut self, attrs: &AttrDict, loc: &Loc, body: &Body, start: Counters, dialect: &str) {
        let (names, _) = Names::number(body, start, self.options.generic);
        if self.options.generic {
            self.string(MODULE);
            self.out.push_str("()");
            self.properties(attrs, |name| MODULE_PROPERTIES.contains(&name));
            self.out.push_str(" (");
            self.braces(body, &names, body.root(), "");
            self.out.push(')');
            self.trailing_dict(attrs, |name| !MODULE_PROPERTIES.contains(&name));
            self.out.push_str(" : () -> ()");
        } else {
            self.out.push_str(short(MODULE, dialect));
            self.symbol_name(attrs);
            self.attributes(attrs, &["sym_name"]);
            self.out.push(' ');
            self.braces(body, &names, body.root(), "builtin");
        }
        self.trailing_loc(loc);
    }

    /// One op, without indentation before and line break behind. Custom forms of some ops of the dialect around leave
    /// its name out.
    pub fn op(&mut self, body: &Body, names: &Names, op: Op, dialect: &str) {
        let results = body.num_results(op);
        if results > 0 {
            self.value(body, names, body.result(op, 0), false);
            if results > 1 {
                self.out.push(':');
                self.number(results as u64);
            }
            self.out.push_str(" = ");
        }
        let syntax = body.op(op).def.map(|def| def.syntax).filter(|_| !self.options.generic);
        match syntax.filter(|&syntax| self.fits(body, op, syntax)) {
            None => self.generic(body, names, op),
            Some(Syntax::Module) => {
                let data = body.op(op);
                if let Some(inner) = body.body(op) {
                    self.module_op(&data.attrs, &data.loc, inner, names.start(op), dialect);
                }
                return;
            }
            Some(Syntax::Func) => self.function(body, names, op),
            Some(Syntax::Call) => self.call(body, names, op, dialect),
            Some(Syntax::Return | Syntax::Yield) => self.ret(body, names, op, dialect),
            Some(Syntax::Constant) => self.constant_op(body, op),
            Some(Syntax::Uniform) => {
                self.uniform(body, names, op);
                if !body.regions(op).is_empty() {
                    self.trailing_loc(&body.op(op).loc);
                    for &region in body.regions(op) {
                        self.out.push_str(" {");
                        self.blocks(body, names, region, "");
                        self.line();
                        self.out.push('}');
                    }
                    return;
                }
            }
        }
        self.trailing_loc(&body.op(op).loc);
    }

    /// Whether a custom form can say all that the op holds.
    fn fits(&self, body: &Body, op: Op, syntax: Syntax) -> bool {
        let attrs = &body.op(op).attrs;
        // An op whose declaration has regions writes them behind its types.
        let declared =
            body.op(op).def.map_or(0, |def| if syntax == Syntax::Uniform { def.regions.len() } else { 0 });
        let plain = body.regions(op).len() == declared
            && body.successors(op).is_empty()
            && body.properties(op).is_empty();
        let no_function_types = || {
            let types = body.operand_types(op).into_iter().chain(body.result_types(op));
            types.into_iter().all(|ty| ty.as_function().is_none())
        };
        let symbol =
            || attrs.get("sym_name").is_some_and(|name| name.as_str().is_some_and(|name| !name.is_empty()));
        match syntax {
            Syntax::Uniform => plain && body.body(op).is_none() && no_function_types(),
            Syntax::Return | Syntax::Yield => plain && body.num_results(op) == 0 && no_function_types(),
            Syntax::Call => plain && attrs.get("callee").is_some_and(|callee| callee.as_symbol().is_some()),
            Syntax::Constant => {
                plain && body.operands(op).is_empty() && body.num_results(op) == 1 && {
                    let ty = body.ty(body.result(op, 0));
                    match attrs.get("value") {
                        Some(Attr::Bool(_)) => ty == Type::int(1),
                        Some(Attr::Int(_, of) | Attr::Float(_, of) | Attr::Resource(_, of)) => ty == *of,
                        Some(Attr::Dense(dense)) => ty == dense.ty,
                        _ => false,
                    }
                }
            }
            Syntax::Module => {
                let name = attrs.get("sym_name");
                body.body(op).is_some_and(|inner| inner.blocks(inner.root()).len() == 1)
                    && body.operands(op).is_empty()
                    && body.num_results(op) == 0
                    && (name.is_none() || symbol())
            }
            Syntax::Func => symbol() && body.num_results(op) == 0 && function_fits(body, op),
        }
    }

    fn generic(&mut self, body: &Body, names: &Names, op: Op) {
        let data = body.op(op);
        self.string(data.name.as_str());
        self.out.push('(');
        self.values(body, names, body.operands(op));
        self.out.push(')');
        if !body.successors(op).is_empty() {
            self.out.push('[');
            self.list(body.successors(op).iter(), |p, successor| p.block_name(names, successor.block));
            self.out.push(']');
        }
        // Ops that upstream knows keep their own attributes apart; it does not know ours.
        let upstream =
            data.def.filter(|_| matches!(data.name.as_str().split_once('.'), Some(("builtin" | "func", _))));
        let inherent = |name: &str| upstream.is_some_and(|def| def.attribute(name).is_some());
        if data.def.is_some() {
            self.properties(&data.attrs, inherent);
        } else {
            self.properties(body.properties(op), |_| true);
        }
        let regions = body.regions(op);
        if let Some(inner) = body.body(op) {
            let (inner_names, _) = Names::number(inner, names.start(op), self.options.generic);
            self.out.push_str(" (");
            self.braces(inner, &inner_names, inner.root(), "");
            self.out.push(')');
        } else if !regions.is_empty() {
            self.out.push_str(" (");
            self.list(regions.iter(), |p, &region| p.braces(body, names, region, ""));
            self.out.push(')');
        }
        self.trailing_dict(&data.attrs, |name| !inherent(name));
        self.out.push_str(" : (");
        self.types_of(body, body.operands(op).iter().copied());
        self.out.push_str(") -> ");
        self.result_types(body, op);
    }

    fn result_types(&mut self, body: &Body, op: Op) {
        let mut results = body.results(op);
        match (results.len(), results.clone().next()) {
            (1, Some(one)) if body.ty(one).as_function().is_none() => self.ty(body.ty(one)),
            _ => {
                self.out.push('(');
                self.types_of(body, &mut results);
                self.out.push(')');
            }
        }
    }

    /// `<{...}>` of the admitted entries.
    fn properties(&mut self, attrs: &AttrDict, admit: impl Fn(&str) -> bool) {
        if attrs.iter().any(|(name, _)| admit(name.as_str())) {
            self.out.push_str(" <");
            self.dict(attrs, admit);
            self.out.push('>');
        }
    }

    /// ` {...}` of the admitted entries.
    fn trailing_dict(&mut self, attrs: &AttrDict, admit: impl Fn(&str) -> bool) {
        if attrs.iter().any(|(name, _)| admit(name.as_str())) {
            self.out.push(' ');
            self.dict(attrs, admit);
        }
    }

    fn attributes(&mut self, attrs: &AttrDict, spelt: &[&str]) {
        if attrs.iter().any(|(name, _)| !spelt.contains(&name.as_str())) {
            self.out.push_str(" attributes");
            self.trailing_dict(attrs, |name| !spelt.contains(&name));
        }
    }

    fn symbol_name(&mut self, attrs: &AttrDict) {
        if let Some(name) = attrs.get("sym_name").and_then(Attr::as_str) {
            self.out.push_str(" @");
            self.out.push_str(&super::symbol_component(name));
        }
    }

    fn function(&mut self, body: &Body, names: &Names, op: Op) {
        let attrs = &body.op(op).attrs;
        let (Some(inner), Some(ty)) = (body.body(op), function_type(attrs)) else { return };
        self.out.push_str("func.func");
        let visibility = attrs.get("sym_visibility").and_then(Attr::as_str);
        let mut spelt = vec!["sym_name", "function_type", "arg_attrs", "res_attrs"];
        if let Some(visibility) = visibility {
            self.out.push(' ');
            self.out.push_str(visibility);
            spelt.push("sym_visibility");
        }
        self.symbol_name(attrs);
        let (inner_names, _) = Names::number(inner, names.start(op), self.options.generic);
        let dict =
            |list: &str, i: usize| match attrs.get(list).and_then(Attr::as_array).and_then(|l| l.get(i)) {
                Some(Attr::Dict(dict)) => dict.clone(),
                _ => AttrDict::EMPTY,
            };
        self.out.push('(');
        let entry = inner.entry();
        self.list(ty.inputs.iter().enumerate(), |p, (i, &ty)| {
            if let Some(entry) = entry {
                p.value(inner, &inner_names, inner.arguments(entry)[i], true);
                p.out.push_str(": ");
            }
            p.ty(ty);
            p.trailing_dict(&dict("arg_attrs", i), |_| true);
            if let Some(entry) = entry {
                p.trailing_loc(&inner.argument_loc(entry, i));
            }
        });
        self.out.push(')');
        match &*ty.results {
            [] => {}
            [one] if one.as_function().is_none() && dict("res_attrs", 0).is_empty() => {
                self.out.push_str(" -> ");
                self.ty(*one);
            }
            many => {
                self.out.push_str(" -> (");
                self.list(many.iter().enumerate(), |p, (i, &ty)| {
                    p.ty(ty);
                    p.trailing_dict(&dict("res_attrs", i), |_| true);
                });
                self.out.push(')');
            }
        }
        self.attributes(attrs, &spelt);
        if entry.is_some() {
            self.out.push(' ');
            self.braces(inner, &inner_names, inner.root(), "func");
        }
    }

    fn call(&mut self, body: &Body, names: &Names, op: Op, dialect: &str) {
        let attrs = &body.op(op).attrs;
        self.out.push_str(short("func.call", dialect));
        self.out.push_str(" @");
        self.out.push_str(attrs.get("callee").and_then(Attr::as_symbol).unwrap_or_default());
        self.out.push('(');
        self.values(body, names, body.operands(op));
        self.out.push(')');
        self.trailing_dict(attrs, |name| name != "callee");
        self.out.push_str(" : (");
        self.types_of(body, body.operands(op).iter().copied());
        self.out.push_str(") -> ");
        self.result_types(body, op);
    }

    fn ret(&mut self, body: &Body, names: &Names, op: Op, dialect: &str) {
        self.out.push_str(short(body.name(op), dialect));
        self.trailing_dict(&body.op(op).attrs, |_| true);
        let operands = body.operands(op);
        if !operands.is_empty() {
            self.out.push(' ');
            self.values(body, names, operands);
            self.out.push_str(" : ");
            self.types_of(body, operands.iter().copied());
        }
    }

    fn constant_op(&mut self, body: &Body, op: Op) {
        let data = body.op(op);
        self.out.push_str(data.name.as_str());
        if let Some(value) = data.attrs.get("value") {
            self.out.push(' ');
            self.constant(value);
        }
        self.trailing_dict(&data.attrs, |name| name != "value");
        self.out.push_str(" : ");
        self.ty(body.ty(body.result(op, 0)));
    }

    fn uniform(&mut self, body: &Body, names: &Names, op: Op) {
        let data = body.op(op);
        self.out.push_str(data.name.as_str());
        let operands = body.operands(op);
        if !operands.is_empty() {
            self.out.push(' ');
            self.values(body, names, operands);
        }
        self.trailing_dict(&data.attrs, |_| true);
        let mut results = body.results(op);
        let count = results.len();
        if operands.is_empty() && count == 0 {
            return;
        }
        self.out.push_str(" : ");
        if count == 1 {
            let ty = body.ty(body.result(op, 0));
            if operands.iter().all(|&v| body.ty(v) == ty) {
                return self.ty(ty);
            }
        }
        if operands.is_empty() {
            self.out.push_str("()");
        }
        self.types_of(body, operands.iter().copied());
        self.out.push_str(" -> ");
        if count == 0 {
            self.out.push_str("()");
        }
        self.types_of(body, &mut results);
    }

    fn types_of(&mut self, body: &Body, values: impl Iterator<Item = Value>) {
        self.list(values, |p, value| p.ty(body.ty(value)));
    }

    fn values(&mut self, body: &Body, names: &Names, values: &[Value]) {
        self.list(values.iter(), |p, &value| p.value(body, names, value, true));
    }

    /// A value; a use says which of several results it is.
    fn value(&mut self, body: &Body, names: &Names, value: Value, in_use: bool) {
        match names.value(value) {
            Name::Argument(n) => {
                self.out.push_str("%arg");
                self.number(n.into());
            }
            Name::Number(n) => {
                self.out.push('%');
                self.number(n.into());
                if in_use
                    && let crate::ValueDef::Result(op, i) = body.def(value)
                    && body.num_results(op) > 1
                {
                    self.out.push('#');
                    self.number(i.into());
                }
            }
        }
    }

    fn block_name(&mut self, names: &Names, block: Block) {
        self.out.push_str("^bb");
        self.number(names.block(block).into());
    }

    /// `{ ... }` around a region.
    fn braces(&mut self, body: &Body, names: &Names, region: Region, dialect: &str) {
        self.out.push('{');
        self.blocks(body, names, region, dialect);
        self.line();
        self.out.push('}');
    }

    /// The blocks of a region, each line preceded by a line break. Without a dialect around, the op is in generic form
    /// and its entry block shows its arguments.
    pub fn blocks(&mut self, body: &Body, names: &Names, region: Region, dialect: &str) {
        let generic = dialect.is_empty();
        let blocks = body.blocks(region);
        let predecessors = if blocks.len() > 1 { predecessors(body, blocks) } else { FxHashMap::default() };
        for (i, &block) in blocks.iter().enumerate() {
            let empty = body.first_op(block).is_none();
            let named = match i {
                0 => {
                    generic && (!body.arguments(block).is_empty() || empty)
                        || predecessors.contains_key(&block)
                }
                _ => true,
            };
            if named {
                self.label(body, names, block, i, &predecessors);
            }
            self.indent += 1;
            for op in body.ops(block) {
                self.line();
                self.op(body, names, op, dialect);
            }
            self.indent -= 1;
        }
    }

    fn label(
        &mut self,
        body: &Body,
        names: &Names,
        block: Block,
        position: usize,
        predecessors: &FxHashMap<Block, Vec<Block>>,
    ) {
        self.line();
        self.block_name(names, block);
        let arguments = body.arguments(block);
        if !arguments.is_empty() {
            self.out.push('(');
            self.list(arguments.iter().enumerate(), |p, (i, &argument)| {
                p.value(body, names, argument, true);
                p.out.push_str(": ");
                p.ty(body.ty(argument));
                p.trailing_loc(&body.argument_loc(block, i));
            });
            self.out.push(')');
        }
        self.out.push(':');
        match predecessors.get(&block).map_or(&[][..], |list| list) {
            [] if position == 0 => {}
            [] => self.out.push_str("  // no predecessors"),
            [one] => {
                self.out.push_str("  // pred: ");
                self.block_name(names, *one);
            }
            many => {
                self.out.push_str("  // ");
                self.number(many.len() as u64);
                self.out.push_str(" preds: ");
                self.list(many.iter(), |p, &block| p.block_name(names, block));
            }
        }
    }
}

/// The name of an op where ops of `dialect` may leave their dialect out.
fn short<'n>(name: &'n str, dialect: &str) -> &'n str {
    name.split_once('.').filter(|(own, _)| *own == dialect).map_or(name, |(_, op)| op)
}

/// Where each block is branched to from, in order.
fn predecessors(body: &Body, blocks: &[Block]) -> FxHashMap<Block, Vec<Block>> {
    let mut all: FxHashMap<Block, Vec<Block>> = FxHashMap::default();
    for &block in blocks {
        for op in body.ops(block) {
            for successor in body.successors(op) {
                all.entry(successor.block).or_default().push(block);
            }
        }
    }
    all
}

fn function_type(attrs: &AttrDict) -> Option<&'static crate::types::FunctionType> {
    attrs.get("function_type").and_then(Attr::as_type).and_then(Type::as_function)
}

/// Whether a function's attributes are those that its custom form spells.
fn function_fits(body: &Body, op: Op) -> bool {
    let attrs = &body.op(op).attrs;
    let (Some(inner), Some(ty)) = (body.body(op), function_type(attrs)) else { return false };
    let dicts = |name: &str, count: usize| match attrs.get(name) {
        None => true,
        Some(Attr::Array(items)) => {
            items.len() == count
                && items.iter().all(|item| matches!(item, Attr::Dict(_)))
                && items.iter().any(|item| matches!(item, Attr::Dict(dict) if !dict.is_empty()))
        }
        Some(_) => false,
    };
    let visibility = match attrs.get("sym_visibility") {
        None => true,
        Some(value) => matches!(value.as_str(), Some("private" | "nested")),
    };
    let entry_fits = inner.entry().is_none_or(|entry| {
        let arguments = inner.arguments(entry);
        arguments.len() == ty.inputs.len()
            && arguments.iter().zip(&ty.inputs).all(|(&a, &t)| inner.ty(a) == t)
    });
    visibility && entry_fits && dicts("arg_attrs", ty.inputs.len()) && dicts("res_attrs", ty.results.len())
}
