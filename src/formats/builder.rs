//! A module as an importer makes it: one function, op by op, and the constants that it needs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ngc_dialects::func::OPERATOR;
use ngc_dialects::ng::constant::all_elements;
use ngc_ir::{
    Attr, AttrDict, Blob, Block, Body, Builder, Context, Dense, Ident, Loc, Module, Op, OpState, Semantics,
    Signature, Type, Value,
};
use ngc_numerics::evaluator::Mode;
use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Evaluator, Tensor};
use prost::bytes::Bytes;

use crate::error::{FormatError, Result, invalid};
use crate::opaque;

/// Where the elements of a model's larger constants go; small ones always stand in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Weights {
    /// Into the ops, as `dense<...>`.
    Inline,
    /// Into the module's resources, as `dense_resource<...>`.
    /// [`detach_weights`](crate::safetensors::detach_weights) takes them from there into a file of their own.
    #[default]
    Resource,
}

/// Constants of at most this many bytes stand in the text.
const INLINE_BYTES: usize = 256;

/// Constants of at most this many elements are evaluated while importing: shapes, axes, bounds.
const MAX_FOLDED: usize = 1024;

/// A function that grows at its end, and the blobs of its module.
pub(crate) struct FunctionBuilder<'a> {
    pub context: &'a Context,
    pub body: Body,
    block: Block,
    weights: Weights,
    resources: BTreeMap<String, Blob>,
    /// Functions that are only declared, by name.
    declared: Vec<(String, AttrDict)>,
    /// Small values whose elements are known.
    folded: HashMap<Value, Folded>,
    /// The given arguments on whose elements something rests that [`constant_of`](Self::constant_of) has told.
    specialised: RefCell<BTreeSet<usize>>,
}

/// The elements of a value, and the given arguments on which they rest.
type Folded = (Tensor, BTreeSet<usize>);

impl<'a> FunctionBuilder<'a> {
    pub fn new(context: &'a Context, weights: Weights) -> FunctionBuilder<'a> {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        FunctionBuilder {
            context,
            body,
            block,
            weights,
            resources: BTreeMap::new(),
            declared: Vec::new(),
            folded: HashMap::new(),
            specialised: RefCell::default(),
        }
    }

    /// Adds an argument.
    pub fn argument(&mut self, ty: Type, loc: Loc) -> Value {
        self.body.add_argument(self.block, ty, loc)
    }

    /// Lets a value, argument `index`, be known to have these elements wherever a constant is needed.
    pub fn give(&mut self, argument: Value, index: usize, tensor: &Tensor) {
        if tensor.len() <= MAX_FOLDED {
            self.folded.insert(argument, (tensor.clone(), BTreeSet::from([index])));
        }
    }

    /// The given arguments whose elements have become part of the function.
    pub fn specialised(&self) -> BTreeSet<usize> {
        self.specialised.borrow().clone()
    }

    /// Calls an operator that ngc does not compute (see [`opaque`]); its arguments are as Python spells them, with `%N` for operand N.
    pub fn call(
        &mut self,
        operator: &str,
        arguments: Vec<String>,
        operands: &[Value],
        results: &[Type],
        loc: &Loc,
    ) -> Result<Vec<Value>> {
        let inputs: Vec<Type> = operands.iter().map(|&v| self.body.ty(v)).collect();
        let mut attrs = AttrDict::EMPTY;
        attrs.set("function_type", Type::function(&inputs, results));
        attrs.set("sym_visibility", "private");
        attrs.set(OPERATOR, operator);
        attrs.set(opaque::ARGUMENTS, Attr::Array(arguments.iter().map(|a| Attr::from(a.as_str())).collect()));
        let known = self.declared.iter().find(|(_, known)| *known == attrs).map(|(name, _)| name.clone());
        let symbol = known.unwrap_or_else(|| {
            let base = operator.split('.').nth(1).unwrap_or(operator);
            let alike =
                |name: &str| name == base || name.strip_prefix(base).is_some_and(|s| s.starts_with('.'));
            let before = self.declared.iter().filter(|(name, _)| alike(name)).count();
            let symbol = if before == 0 { base.to_string() } else { format!("{base}.{before}") };
            self.declared.push((symbol.clone(), attrs));
            symbol
        });
        let Some(def) = self.context.op("func.call") else {
            return invalid("the dialect 'func' is not registered");
        };
        let mut own = AttrDict::EMPTY;
        own.set("callee", Attr::Symbol(symbol.as_str().into()));
        let op = self.body.create(OpState {
            attrs: own,
            operands: operands.into(),
            results: results.into(),
            ..OpState::new(def, loc.clone())
        });
        self.body.append(self.block, op);
        Ok(self.body.results(op).collect())
    }

    /// Emits an op; one whose operands are small constants is evaluated as well.
    ///
    /// # Errors
    /// What the op does not take is a limit of ngc; what does not fit together is a fault of the model.
    pub fn emit(&mut self, name: &str, operands: &[Value], attrs: AttrDict, loc: &Loc) -> Result<Vec<Value>> {
        let operand_types: Vec<Type> = operands.iter().map(|&v| self.body.ty(v)).collect();
        if let Some(def) = self.context.op(name) {
            Signature { def, operands: &operand_types, attrs: &attrs }
                .check()
                .map_err(|e| FormatError::Unsupported(format!("'{name}' {e}")))?;
        }
        let mut builder = Builder::at_end(self.context, &mut self.body, self.block, loc.clone());
        let op = builder.op(name, operands, attrs).map_err(FormatError::Invalid)?;
        let results: Vec<Value> = self.body.results(op).collect();
        if let Some((tensors, rests_on)) = self.evaluate(op) {
            let known = tensors.into_iter().map(|tensor| (tensor, rests_on.clone()));
            self.folded.extend(results.iter().copied().zip(known));
        }
        Ok(results)
    }

    fn evaluate(&self, op: Op) -> Option<(Vec<Tensor>, BTreeSet<usize>)> {
        let small = |v: Value| {
            let count = element_count(&self.body.ty(v).static_shape()?).ok()?;
            (count <= MAX_FOLDED).then_some(())
        };
        self.body.results(op).try_for_each(|v| small(v).ok_or(())).ok()?;
        let operands = self.body.operands(op);
        // Constants are looked up where they stand.
        if self.body.is_constant(op) {
            return None;
        }
        let known: Vec<Folded> =
            operands.iter().map(|&v| small(v).and_then(|()| self.peek(v).ok()?)).collect::<Option<_>>()?;
        let inputs: Vec<&Tensor> = known.iter().map(|(tensor, _)| tensor).collect();
        let evaluator = Evaluator::new(Mode::Rounded);
        let results = self.body.with_signature(op, |signature| match signature.def.semantics {
            Semantics::Primitive(function) => function(&evaluator, signature, &inputs).ok(),
            Semantics::Elementwise(function) => {
                let out = self.body.ty(self.body.result(op, 0)).elem()?;
                let e = function(signature).ok()?;
                evaluator.map(e.function, &e.params, &inputs, out).ok().map(|t| vec![t])
            }
            Semantics::Decomposition(_) | Semantics::None => None,
        })??;
        Some((results, known.iter().flat_map(|(_, rests_on)| rests_on).copied().collect()))
    }

    /// The elements of a value, if they are known.
    pub fn constant_of(&self, value: Value) -> Result<Option<Tensor>> {
        let Some((tensor, rests_on)) = self.peek(value)? else { return Ok(None) };
        self.specialised.borrow_mut().extend(rests_on);
        Ok(Some(tensor))
    }

    /// The elements of a value, if they are known; nothing rests on them for being asked for.
    fn peek(&self, value: Value) -> Result<Option<Folded>> {
        if let Some(known) = self.folded.get(&value) {
            return Ok(Some(known.clone()));
        }
        let op = self.body.defining_op(value).filter(|&op| self.body.name(op) == "ng.constant");
        let attr = op.and_then(|op| self.body.attr(op, "value"));
        Ok(attr.map(|attr| self.elements(attr)).transpose()?.map(|tensor| (tensor, BTreeSet::new())))
    }

    /// The elements of a constant attribute.
    pub fn elements(&self, attr: &Attr) -> Result<Tensor> {
        all_elements(attr, |key| self.resources.get(key).map(|blob| &blob.bytes))
            .map_err(FormatError::Invalid)
    }

    /// The constant attribute of a tensor, whose elements lie little endian in `bytes`; those of a large one become a
    /// resource under a key made from `name`. The memory of the bytes is kept, not copied.
    pub fn weight(&mut self, name: &str, ty: Type, mut bytes: Bytes) -> Attr {
        if ty.elem() == Some(DType::BOOL) && bytes.iter().any(|&b| b > 1) {
            bytes = bytes.iter().map(|&b| u8::from(b != 0)).collect();
        }
        if is_splat(ty, &bytes) || bytes.len() <= INLINE_BYTES || self.weights == Weights::Inline {
            return Attr::Dense(Arc::new(dense(ty, &bytes)));
        }
        let key = self.key(name);
        let attr = Attr::Resource(Ident::new(&key), ty);
        self.resources.insert(key, Blob { alignment: 64, bytes: bytes.into() });
        attr
    }

    /// A key that text can hold without quotes, different from the others.
    fn key(&self, name: &str) -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        let mut key: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        if !key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            key.insert(0, '_');
        }
        let base = key.clone();
        let mut n = 0;
        while self.resources.contains_key(&key) {
            n += 1;
            key = format!("{base}_{n}");
        }
        key
    }

    /// Ends the function, which is called `@main`, and puts it into a module. The attributes are one dictionary for each
    /// argument and each result.
    pub fn finish(
        mut self,
        loc: Loc,
        arguments: Vec<AttrDict>,
        results: &[Value],
        result_attrs: Vec<AttrDict>,
    ) -> Result<Module> {
        self.emit("func.return", results, AttrDict::EMPTY, &Loc::Unknown)?;
        erase_dead(&mut self.body);
        self.body.shrink_to_fit();

        let inputs: Vec<Type> = self.body.arguments(self.block).iter().map(|&v| self.body.ty(v)).collect();
        let outputs: Vec<Type> = results.iter().map(|&v| self.body.ty(v)).collect();
        let Some(def) = self.context.op("func.func") else {
            return invalid("the dialect 'func' is not registered");
        };
        let mut attrs = AttrDict::EMPTY;
        attrs.set("sym_name", "main");
        attrs.set("function_type", Type::function(&inputs, &outputs));
        for (name, dicts) in [("arg_attrs", arguments), ("res_attrs", result_attrs)] {
            if dicts.iter().any(|dict| !dict.is_empty()) {
                attrs.set(name, Attr::Array(dicts.into_iter().map(Attr::Dict).collect()));
            }
        }

        let mut module = Module::new();
        let Some(top) = module.body.entry() else { return invalid("a module has no block") };
        let function = module.body.create(OpState { attrs, ..OpState::new(def, loc) });
        module.body.append(top, function);
        module.body.set_body(function, self.body);
        for (name, mut attrs) in self.declared {
            attrs.set("sym_name", name.as_str());
            let declared = module.body.create(OpState { attrs, ..OpState::new(def, Loc::Unknown) });
            module.body.append(top, declared);
            module.body.set_body(declared, Body::new());
        }
        // Weights that only said a shape have become attributes.
        let used = crate::safetensors::resource_types(&module)?;
        self.resources.retain(|key, _| used.contains_key(key));
        module.resources = self.resources.into();
        Ok(module)
    }
}

/// The elements of a tensor type, kept once if they are all equal.
pub(crate) fn dense(ty: Type, bytes: &[u8]) -> Dense {
    let splat = is_splat(ty, bytes);
    let kept = if splat { element_size(ty) } else { bytes.len() };
    Dense { ty, bytes: Bytes::copy_from_slice(&bytes[..kept]).into(), splat }
}

fn is_splat(ty: Type, bytes: &[u8]) -> bool {
    let size = element_size(ty);
    bytes.len() >= size && bytes.chunks_exact(size).all(|element| element == &bytes[..size])
}

fn element_size(ty: Type) -> usize {
    ty.elem().map_or(1, DType::storage_bytes)
}

/// Erases pure ops that nobody uses: most have computed shapes that are attributes now.
fn erase_dead(body: &mut Body) {
    let mut uses = vec![0usize; body.num_values()];
    let mut order = body.walk();
    order.iter().flat_map(|&op| body.operands(op)).for_each(|v| uses[v.index()] += 1);
    while let Some(op) = order.pop() {
        let pure = body.op(op).def.is_some_and(|d| d.traits.pure);
        if pure && body.results(op).all(|v| uses[v.index()] == 0) {
            body.operands(op).iter().for_each(|v| uses[v.index()] -= 1);
            body.unlink(op);
        }
    }
}
