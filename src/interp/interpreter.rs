//! Evaluation of functions, op by op.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ngc_dialects::func::OPERATOR;
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
        Interpreter {
            context,
            module,
            evaluator,
            progress: None,
            observer: None,
            decompositions: Mutex::default(),
        }
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
        let mut run = self.start_at(name, inputs, caller, depth)?;
        let mut done = 0;
        while run.step()?.is_some() {
            done += 1;
            if let (Some(progress), 0) = (self.progress, depth) {
                progress(done, run.total);
            }
        }
        run.results()
    }

    /// Starts a run of the function `name` that is taken op by op with [`Execution::step`].
    ///
    /// # Errors
    /// When there is no such function, or the inputs do not fit its arguments.
    pub fn start<'i>(&'i self, name: &'i str, inputs: &[Tensor]) -> Result<Execution<'i>, Diagnostic> {
        self.start_at(name, inputs, &Loc::Unknown, 0)
    }

    fn start_at<'i>(
        &'i self,
        name: &'i str,
        inputs: &[Tensor],
        caller: &Loc,
        depth: usize,
    ) -> Result<Execution<'i>, Diagnostic> {
        let (mut run, arguments) = self.enter(name, caller, depth)?;
        let fail = |message: String| Diagnostic::error(run.loc.clone(), message);
        if arguments.len() != inputs.len() {
            return Err(fail(format!(
                "@{name} takes {} inputs, but {} were given",
                arguments.len(),
                inputs.len()
            )));
        }
        check_inputs(run.body, arguments, inputs).map_err(|m| fail(format!("@{name}: {m}")))?;
        for (&argument, input) in arguments.iter().zip(inputs) {
            run.frame.set(argument, Arc::new(self.evaluator.lift(input)));
        }
        Ok(run)
    }

    /// A run without values yet, and the arguments that want them.
    fn enter<'i>(
        &'i self,
        name: &'i str,
        caller: &Loc,
        depth: usize,
    ) -> Result<(Execution<'i>, &'i [Value]), Diagnostic> {
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
            let operator = self.module.body.attr(function, OPERATOR).and_then(Attr::as_str);
            return Err(fail(match operator {
                Some(operator) => {
                    format!("@{name} stands for {operator}, which ngc passes on and does not evaluate")
                }
                None => format!("@{name} is a declaration and cannot be evaluated"),
            }));
        };
        let mut ops: Vec<Op> = body.ops(entry).collect();
        let total = ops.len();
        ops.reverse();
        let run = Execution {
            interpreter: self,
            name,
            loc,
            body,
            frame: Frame::new(body),
            ops,
            total,
            depth,
            constants: None,
        };
        Ok((run, body.arguments(entry)))
    }

    /// Evaluates what does not depend on the arguments of the function `name`.
    ///
    /// # Errors
    /// When there is no such function, or an op cannot be evaluated.
    pub fn constants(&self, name: &str) -> Result<Constants, Diagnostic> {
        let (mut run, _) = self.enter(name, &Loc::Unknown, 0)?;
        let mut known: Vec<Option<Arc<Tensor>>> = vec![None; run.body.num_values()];
        while let Some(op) = run.ops.pop() {
            let data = run.body.op(op);
            let fixed = run.body.operands(op).iter().all(|v| known[v.index()].is_some());
            if fixed && data.def.is_some_and(|d| d.traits.pure && !d.traits.terminator) {
                for (value, tensor) in run.body.results(op).zip(run.evaluate(op)?) {
                    known[value.index()] = Some(tensor);
                }
            }
        }
        Ok(Constants(known))
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
        if let (true, Some(value @ Attr::Resource(..))) = (def.traits.constant, data.attrs.get("value")) {
            let payload = |key: &str| self.module.resources.get(key).map(|blob| &blob.bytes);
            let tensor = constant::all_elements(value, payload).map_err(Failure::Here)?;
            return Ok(vec![self.evaluator.lift(&tensor)]);
        }
        let types: Vec<Type> =
            body.operands(op).iter().zip(&inputs).map(|(&v, t)| concrete(body.ty(v), t)).collect();
        let results =
            evaluate(self.context, &self.evaluator, &self.decompositions, def, &data.attrs, &types, &inputs)
                .map_err(Failure::Here)?;
        if let (Semantics::Elementwise(_), [result]) = (def.semantics, &results[..]) {
            for (n, (&v, input)) in body.operands(op).iter().zip(&inputs).enumerate() {
                let Some((from, to)) = stretched(body.ty(v), &input.shape, &result.shape) else { continue };
                return Err(Failure::Here(format!(
                    "stretches an unknown extent: it is {from} in operand #{n} and {to} in the result; `?` does not \
                     broadcast, an extent that is always 1 is to be stated as 1"
                )));
            }
        }
        Ok(results)
    }
}

/// An extent that is `?` in the declared type, and the other one to which a broadcast stretches it.
fn stretched(declared: Type, shape: &[usize], result: &[usize]) -> Option<(usize, usize)> {
    let declared = declared.shape()?;
    let ends = shape.iter().rev().zip(result.iter().rev());
    let mut unknown = declared.iter().rev().zip(ends).filter(|(dim, _)| **dim == Dim::Dynamic);
    unknown.find_map(|(_, (&from, &to))| (from != to).then_some((from, to)))
}

/// Values of a function that do not depend on its arguments, by value; many runs share them.
pub struct Constants(Vec<Option<Arc<Tensor>>>);

impl Constants {
    /// Whether a value is among them.
    pub fn has(&self, value: Value) -> bool {
        self.0.get(value.index()).is_some_and(Option::is_some)
    }
}

/// An op that was evaluated.
pub struct Step {
    /// The op.
    pub op: Op,
    /// Its results.
    pub results: Vec<Arc<Tensor>>,
}

/// A run of a function, op by op. A value is dropped after its last use.
pub struct Execution<'i> {
    interpreter: &'i Interpreter<'i>,
    name: &'i str,
    loc: &'i Loc,
    body: &'i Body,
    frame: Frame<'i>,
    /// Those to come, the next one last.
    ops: Vec<Op>,
    total: usize,
    depth: usize,
    constants: Option<&'i Constants>,
}

impl<'i> Execution<'i> {
    /// Takes values from `constants`, of this function and this interpreter, instead of evaluating them.
    pub fn with_constants(self, constants: &'i Constants) -> Execution<'i> {
        Execution { constants: Some(constants), ..self }
    }

    /// Evaluates the next op and gives its results; nothing before the return.
    ///
    /// # Errors
    /// When the op cannot be evaluated; the error is located at it.
    pub fn step(&mut self) -> Result<Option<Step>, Diagnostic> {
        let is_end = |op: &Op| self.body.op(*op).def.is_some_and(|d| d.traits.terminator);
        match self.ops.pop_if(|op| !is_end(op)) {
            Some(op) => self.evaluate(op).map(|results| Some(Step { op, results })),
            None => Ok(None),
        }
    }

    /// The outputs, when [`step`](Self::step) has come to the end.
    ///
    /// # Errors
    /// When the function does not end in a return.
    pub fn results(&self) -> Result<Vec<Tensor>, Diagnostic> {
        let end = self.ops.last().ok_or_else(|| {
            Diagnostic::error(self.loc.clone(), format!("@{} does not end in a return", self.name))
        })?;
        Ok(self.body.operands(*end).iter().map(|&v| self.frame.get(v).clone()).collect())
    }

    fn evaluate(&mut self, op: Op) -> Result<Vec<Arc<Tensor>>, Diagnostic> {
        let body = self.body;
        let shared = self.constants.and_then(|known| {
            let of = |v: Value| known.0.get(v.index()).cloned().flatten();
            body.results(op).map(of).collect::<Option<Vec<_>>>().filter(|found| !found.is_empty())
        });
        let results = match shared {
            Some(results) => results,
            None => {
                let found = self.interpreter.evaluate(body, op, &self.frame, self.depth);
                let results = found.map_err(|e| match e {
                    Failure::Here(message) => {
                        Diagnostic::error(body.op(op).loc.clone(), format!("'{}': {message}", body.name(op)))
                    }
                    Failure::Located(diagnostic) => diagnostic.note(
                        body.op(op).loc.clone(),
                        format!("called from '{}' in @{}", body.name(op), self.name),
                    ),
                })?;
                if let (Some(observer), 0) = (self.interpreter.observer, self.depth) {
                    let operands: Vec<&Tensor> =
                        body.operands(op).iter().map(|&v| self.frame.get(v)).collect();
                    observer(op, &operands, &results);
                }
                results.into_iter().map(Arc::new).collect()
            }
        };
        self.frame.finish(op, &results);
        Ok(results)
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
    inputs: &[impl Borrow<Tensor>],
) -> Result<Vec<Tensor>, String> {
    let lifted: Vec<Tensor> = inputs.iter().map(|t| evaluator.lift(t.borrow())).collect();
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
        frame.set(argument, Arc::new(input.clone()));
    }
    for op in body.ops(block) {
        let data = body.op(op);
        let def = data.def.ok_or("decomposes into an unregistered op")?;
        let inputs: Vec<&Tensor> = body.operands(op).iter().map(|&v| frame.get(v)).collect();
        let types: Vec<Type> =
            body.operands(op).iter().zip(&inputs).map(|(&v, t)| concrete(body.ty(v), t)).collect();
        let results = evaluate(context, evaluator, decompositions, def, &data.attrs, &types, &inputs)
            .map_err(|m| format!("in its step '{}': {m}", def.name))?;
        frame.finish(op, &results.into_iter().map(Arc::new).collect::<Vec<_>>());
    }
    Ok(steps.results.iter().map(|&v| frame.get(v).clone()).collect())
}

/// The values of one running function. A tensor is dropped after its last use.
struct Frame<'a> {
    body: &'a Body,
    values: Vec<Option<Arc<Tensor>>>,
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

    fn set(&mut self, value: Value, tensor: Arc<Tensor>) {
        if self.uses[value.index()] > 0 {
            self.values[value.index()] = Some(tensor);
        }
    }

    fn get(&self, value: Value) -> &Tensor {
        self.values[value.index()].as_deref().expect("verified bodies define values before their uses")
    }

    fn finish(&mut self, op: Op, results: &[Arc<Tensor>]) {
        for &v in self.body.operands(op) {
            let uses = &mut self.uses[v.index()];
            *uses -= 1;
            if *uses == 0 {
                self.values[v.index()] = None;
            }
        }
        for (value, tensor) in self.body.results(op).zip(results) {
            self.set(value, tensor.clone());
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
