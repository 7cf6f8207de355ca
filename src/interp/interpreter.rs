//! Evaluation of functions, op by op.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ngc_dialects::ng::constant;
use ngc_ir::{
    Attr, AttrDict, Body, Builder, Context, Diagnostic, Dim, Loc, Module, Op, OpDef, Semantics, Signature,
    Type, Value,
};
use ngc_numerics::{Evaluator, Mode, Tensor};
use rustc_hash::FxBuildHasher;

/// Calls nested deeper than this are refused: a function that calls itself has no end.
const MAX_CALL_DEPTH: usize = 256;

/// Told after each op of the outermost function: how many are done, of how many.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Told after each op of the outermost function: the op, its operands, its results.
pub type Observer<'a> = &'a (dyn Fn(Op, &[&Tensor], &[Tensor]) + Sync);

/// Evaluates the functions of a module.
pub struct Interpreter<'a> {
    context: &'a Context,
    module: &'a Module,
    evaluator: Evaluator,
    progress: Option<Progress<'a>>,
    observer: Option<Observer<'a>>,
    decompositions: Decompositions,
}

/// Decompositions made so far, by op, attributes and concrete operand types.
type Decompositions = Mutex<HashMap<(&'static str, AttrDict, Vec<Type>), Arc<Decomposition>, FxBuildHasher>>;

struct Decomposition {
    body: Body,
    results: Vec<Value>,
}

impl<'a> Interpreter<'a> {
    /// An interpreter of a verified module.
    pub fn new(context: &'a Context, module: &'a Module, evaluator: Evaluator) -> Interpreter<'a> {
        Interpreter { context, module, evaluator, progress: None, observer: None, decompositions: Mutex::default() }
    }

    /// Reports progress on the outermost function.
    pub fn with_progress(self, progress: Progress<'a>) -> Interpreter<'a> {
        Interpreter { progress: Some(progress), ..self }
    }

    /// Shows the values of the outermost function, as the evaluator has them.
    pub fn with_observer(self, observer: Observer<'a>) -> Interpreter<'a> {
        Interpreter { observer: Some(observer), ..self }
    }

    /// Calls the function `name`.
    ///
    /// # Errors
    /// When there is no such function, the inputs do not fit its arguments, or an op cannot be evaluated; the error
    /// is located at the function or the op.
    pub fn call(&self, name: &str, inputs: &[Tensor]) -> Result<Vec<Tensor>, Diagnostic> {
        self.call_at(name, inputs, &Loc::Unknown, 0)
    }

    fn call_at(
        &self,
        name: &str,
        inputs: &[Tensor],
        caller: &Loc,
        depth: usize,
    ) -> Result<Vec<Tensor>, Diagnostic> {
        let function = self.module.symbol(name);
        let body = function.and_then(|f| self.module.body.body(f));
        let (Some(function), Some(body)) = (function, body) else {
            return Err(Diagnostic::error(caller.clone(), format!("there is no function @{name}")));
        };
        let loc = &self.module.body.op(function).loc;
        let fail = |message: String| Diagnostic::error(loc.clone(), message);
        if depth > MAX_CALL_DEPTH {
            return Err(fail(format!("@{name} is called more than {MAX_CALL_DEPTH} levels deep")));
        }
        let Some(entry) = body.entry() else {
            return Err(fail(format!("@{name} is a declaration and cannot be evaluated")));
        };
        let arguments = body.arguments(entry);
        if arguments.len() != inputs.len() {
            return Err(fail(format!(
                "@{name} takes {} inputs, but {} were given",
                arguments.len(),
                inputs.len()
            )));
        }
        check_inputs(body, arguments, inputs).map_err(|m| fail(format!("@{name}: {m}")))?;

        let mut frame = Frame::new(body);
        for (&argument, input) in arguments.iter().zip(inputs) {
            frame.set(argument, self.evaluator.lift(input));
        }
        let ops: Vec<Op> = body.ops(entry).collect();
        for (done, &op) in ops.iter().enumerate() {
            if body.op(op).def.is_some_and(|d| d.traits.terminator) {
                return Ok(body.operands(op).iter().map(|&v| frame.get(v).clone()).collect());
            }
            let results = self.evaluate(body, op, &frame, depth).map_err(|e| match e {
                Failure::Here(message) => {
                    Diagnostic::error(body.op(op).loc.clone(), format!("'{}': {message}", body.name(op)))
                }
                Failure::Located(diagnostic) => diagnostic
                    .note(body.op(op).loc.clone(), format!("called from '{}' in @{name}", body.name(op))),
            })?;
            if let (Some(observer), 0) = (self.observer, depth) {
                let operands: Vec<&Tensor> = body.operands(op).iter().map(|&v| frame.get(v)).collect();
                observer(op, &operands, &results);
            }
            frame.finish(op, results);
            if let (Some(progress), 0) = (self.progress, depth) {
                progress(done + 1, ops.len());
            }
        }
        Err(fail(format!("@{name} does not end in a return")))
    }

    fn evaluate(&self, body: &Body, op: Op, frame: &Frame<'_>, depth: usize) -> Result<Vec<Tensor>, Failure> {
        let data = body.op(op);
        let inputs: Vec<&Tensor> = body.operands(op).iter().map(|&v| frame.get(v)).collect();
        let Some(def) = data.def else {
            return Err(Failure::Here("is not registered, so its meaning is unknown".into()));
        };
        if let (true, Some(callee)) =
            (def.name == "func.call", data.attrs.get("callee").and_then(Attr::as_symbol))
        {
            let inputs: Vec<Tensor> = inputs.into_iter().cloned().collect();
            return self.call_at(callee, &inputs, &data.loc, depth + 1).map_err(Failure::Located);
        }
        if let (true, Some(Attr::Resource(key, ty))) = (def.traits.constant, data.attrs.get("value")) {
            let blob = self.module.resources.get(key.as_str()).ok_or_else(|| {
                Failure::Here(format!("resource '{key}' is neither in the file nor beside it"))
            })?;
            let tensor = constant::tensor_from_bytes(*ty, &blob.bytes).map_err(Failure::Here)?;
            return Ok(vec![self.evaluator.lift(&tensor)]);
        }
        let types: Vec<Type> =
            body.operands(op).iter().zip(&inputs).map(|(&v, t)| concrete(body.ty(v), t)).collect();
        evaluate(self.context, &self.evaluator, &self.decompositions, def, &data.attrs, &types, &inputs)
            .map_err(Failure::Here)
    }
}

enum Failure {
    Here(String),
    Located(Diagnostic),
}

/// Evaluates one op on tensors; a tensor of rank 0 counts as a scalar.
///
/// # Errors
/// A sentence that says what does not fit.
pub fn evaluate_op(
    context: &Context,
    evaluator: &Evaluator,
    def: &'static OpDef,
    attrs: &AttrDict,
    inputs: &[Tensor],
) -> Result<Vec<Tensor>, String> {
    let lifted: Vec<Tensor> = inputs.iter().map(|t| evaluator.lift(t)).collect();
    let inputs: Vec<&Tensor> = lifted.iter().collect();
    let types: Vec<Type> = inputs.iter().map(|t| concrete(Type::scalar(t.dtype), t)).collect();
    let signature = Signature { def, operands: &types, attrs };
    signature.check()?;
    signature.infer()?;
    evaluate(context, evaluator, &Mutex::default(), def, attrs, &types, &inputs)
}

/// The type of a tensor at run time: a scalar where the text has a scalar, else a tensor with its extents.
fn concrete(declared: Type, tensor: &Tensor) -> Type {
    if declared.as_tensor().is_none() && tensor.shape.is_empty() {
        Type::scalar(tensor.dtype)
    } else {
        Type::tensor(tensor.shape.iter().map(|&n| Dim::Static(n)), tensor.dtype)
    }
}

fn evaluate(
    context: &Context,
    evaluator: &Evaluator,
    decompositions: &Decompositions,
    def: &'static OpDef,
    attrs: &AttrDict,
    types: &[Type],
    inputs: &[&Tensor],
) -> Result<Vec<Tensor>, String> {
    let signature = Signature { def, operands: types, attrs };
    match def.semantics {
        Semantics::None => Err("has no meaning that can be evaluated".into()),
        Semantics::Elementwise(function) => {
            let elementwise = function(&signature)?;
            let results = signature.infer()?;
            let [Some(out)] = results.iter().map(|t| t.elem()).collect::<Vec<_>>()[..] else {
                return Err("is elementwise but has not one result".into());
            };
            evaluator.map(elementwise.function, &elementwise.params, inputs, out).map(|t| vec![t])
        }
        Semantics::Primitive(function) => {
            let results = function(evaluator, &signature, inputs)?;
            // Constants and generated sequences come in their own format.
            Ok(match evaluator.mode {
                Mode::Rounded => results,
                _ => results.iter().map(|t| evaluator.lift(t)).collect(),
            })
        }
        Semantics::Decomposition(decompose) => {
            let key = (def.name, attrs.clone(), types.to_vec());
            let known = lock(decompositions).get(&key).cloned();
            let steps = match known {
                Some(steps) => steps,
                None => {
                    let mut body = Body::new();
                    let root = body.root();
                    let block = body.add_block(root);
                    let arguments: Vec<Value> =
                        types.iter().map(|&ty| body.add_argument(block, ty, Loc::Unknown)).collect();
                    let mut builder = Builder::at_end(context, &mut body, block, Loc::Unknown);
                    let results = decompose(&mut builder, &signature, &arguments)?;
                    let steps = Arc::new(Decomposition { body, results });
                    lock(decompositions).insert(key, steps.clone());
                    steps
                }
            };
            run_decomposition(context, evaluator, decompositions, &steps, inputs)
        }
    }
}

fn run_decomposition(
    context: &Context,
    evaluator: &Evaluator,
    decompositions: &Decompositions,
    steps: &Decomposition,
    inputs: &[&Tensor],
) -> Result<Vec<Tensor>, String> {
    let body = &steps.body;
    let block = body.entry().ok_or("has an empty decomposition")?;
    let mut frame = Frame::with_results(body, &steps.results);
    for (&argument, &input) in body.arguments(block).iter().zip(inputs) {
        frame.set(argument, input.clone());
    }
    for op in body.ops(block) {
        let data = body.op(op);
        let def = data.def.ok_or("decomposes into an unregistered op")?;
        let inputs: Vec<&Tensor> = body.operands(op).iter().map(|&v| frame.get(v)).collect();
        let types: Vec<Type> =
            body.operands(op).iter().zip(&inputs).map(|(&v, t)| concrete(body.ty(v), t)).collect();
        let results = evaluate(context, evaluator, decompositions, def, &data.attrs, &types, &inputs)
            .map_err(|m| format!("in its step '{}': {m}", def.name))?;
        frame.finish(op, results);
    }
    Ok(steps.results.iter().map(|&v| frame.get(v).clone()).collect())
}

/// The values of one running function. A tensor is dropped after its last use.
struct Frame<'a> {
    body: &'a Body,
    values: Vec<Option<Tensor>>,
    uses: Vec<u32>,
}

impl<'a> Frame<'a> {
    fn new(body: &'a Body) -> Frame<'a> {
        let mut uses = vec![0; body.num_values()];
        for op in body.walk() {
            for v in body.operands(op) {
                uses[v.index()] += 1;
            }
        }
        Frame { body, values: vec![None; body.num_values()], uses }
    }

    fn with_results(body: &'a Body, results: &[Value]) -> Frame<'a> {
        let mut frame = Frame::new(body);
        for v in results {
            frame.uses[v.index()] += 1;
        }
        frame
    }

    fn set(&mut self, value: Value, tensor: Tensor) {
        if self.uses[value.index()] > 0 {
            self.values[value.index()] = Some(tensor);
        }
    }

    fn get(&self, value: Value) -> &Tensor {
        self.values[value.index()].as_ref().expect("verified bodies define values before their uses")
    }

    fn finish(&mut self, op: Op, results: Vec<Tensor>) {
        for &v in self.body.operands(op) {
            let uses = &mut self.uses[v.index()];
            *uses -= 1;
            if *uses == 0 {
                self.values[v.index()] = None;
            }
        }
        for (value, tensor) in self.body.results(op).zip(results) {
            self.set(value, tensor);
        }
    }
}

/// Inputs must have the arguments' element types and extents; extents called alike by a `?` are free.
fn check_inputs(body: &Body, arguments: &[Value], inputs: &[Tensor]) -> Result<(), String> {
    for (n, (&argument, input)) in arguments.iter().zip(inputs).enumerate() {
        let declared = body.ty(argument);
        let given = concrete(declared, input);
        if !given.is_compatible(declared) {
            return Err(format!("input {n} must be {declared}, but is {given}"));
        }
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
