//! Runs one workgroup of a kernel on the host, a thread an invocation, and counts what it does.

use super::memory::{Gate, Memory};
use super::ops::{self, Shape, Words, number, shape};
use wgpu::naga::valid::{Capabilities, FunctionInfo, ModuleInfo, ValidationFlags, Validator};
use wgpu::naga::{
    AddressSpace, Arena, Binding, Block, BuiltIn, Expression, Function, GlobalVariable, Handle, Literal, LocalVariable,
    Module, ScalarKind, Statement, Type, TypeInner, front,
};

/// A parsed kernel with the types of its expressions.
pub(super) struct Program {
    module: Module,
    info: ModuleInfo,
}

/// What an invocation did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// floating-point operations
    pub(super) flops: u64,
    /// words of storage loaded and stored
    pub(super) accesses: u64,
    /// points where it waited for its workgroup
    pub(super) barriers: u64,
    /// turns of loops
    pub(super) turns: u64,
}

impl Program {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let module = front::wgsl::parse_str(text).map_err(|e| e.to_string())?;
        let mut validator = Validator::new(ValidationFlags::empty(), Capabilities::all());
        let info = validator.validate(&module).map_err(|e| e.to_string())?;
        Ok(Self { module, info })
    }

    /// Words of workgroup memory, and where each variable starts.
    pub(super) fn workgroup(&self) -> (usize, Vec<usize>) {
        let mut end = 0;
        let starts = self.module.global_variables.iter().map(|(_, v)| {
            let start = end;
            if v.space == AddressSpace::WorkGroup {
                end += words(&self.module, v.ty);
            }
            start
        });
        let starts = starts.collect();
        (end, starts)
    }

    /// Runs an entry point on a workgroup of `lanes` invocations that share world 0.
    pub(super) fn run(&self, entry: &str, lanes: u32, memory: &Memory) -> Result<Vec<Work>, String> {
        let at = self.module.entry_points.iter().position(|e| e.name == entry).ok_or(format!("no `{entry}`"))?;
        let (function, info) = (&self.module.entry_points[at].function, self.info.get_entry_point(at));
        let (_, starts) = self.workgroup();
        let gate = Gate::new(lanes);
        let one = |lane: u32| {
            let mut machine = Machine {
                program: self,
                memory,
                gate: &gate,
                starts: &starts,
                stack: Vec::new(),
                work: Work::default(),
                waiting: false,
            };
            let args = function.arguments.iter().map(|a| match a.binding {
                Some(Binding::BuiltIn(BuiltIn::LocalInvocationId)) => Slot::Value(vec![lane, 0, 0]),
                _ => Slot::Value(vec![0, 0, 0]),
            });
            let done = machine.call(function, info, args.collect());
            if done.is_err() {
                gate.break_down();
            }
            done.map(|_| machine.work)
        };
        if lanes == 1 {
            return Ok(vec![one(0)?]);
        }
        std::thread::scope(|s| {
            let one = &one;
            let threads: Vec<_> = (0..lanes).map(|lane| s.spawn(move || one(lane))).collect();
            threads.into_iter().map(|t| t.join().unwrap_or_else(|_| Err("an invocation died".to_owned()))).collect()
        })
    }
}

/// Words of a type, without padding; 0 for arrays without a size.
fn words(module: &Module, ty: Handle<Type>) -> usize {
    inner_words(module, &module.types[ty].inner)
}

fn inner_words(module: &Module, inner: &TypeInner) -> usize {
    match inner {
        TypeInner::Scalar(_) | TypeInner::Atomic(_) => 1,
        TypeInner::Vector { size, .. } => number(*size),
        TypeInner::Matrix { columns, rows, .. } => number(*columns) * number(*rows),
        TypeInner::Array { base, size, .. } => {
            let n = size.resolve(module.to_ctx()).ok().and_then(|s| match s {
                wgpu::naga::proc::IndexableLength::Known(n) => Some(n as usize),
                wgpu::naga::proc::IndexableLength::Dynamic => None,
            });
            n.unwrap_or(0) * words(module, *base)
        }
        TypeInner::Struct { members, .. } => members.iter().map(|m| words(module, m.ty)).sum(),
        _ => 0,
    }
}

/// Where a thing lies.
#[derive(Clone, Copy, Debug)]
enum Space {
    /// a storage buffer, by its binding
    Storage(usize),
    Uniform,
    Workgroup,
    /// the invocation's own stack
    Own,
}

/// A value, or a place; nothing before it is computed.
#[derive(Clone, Debug)]
enum Slot {
    Empty,
    Value(Words),
    Place(Space, usize),
}

enum Flow {
    Next,
    Break,
    Continue,
    Return(Option<Words>),
}

struct Machine<'a> {
    program: &'a Program,
    memory: &'a Memory,
    gate: &'a Gate,
    starts: &'a [usize],
    stack: Vec<u32>,
    work: Work,
    /// the last statement was a barrier: the next one, if a barrier too, is the same point
    waiting: bool,
}

/// A function that runs.
struct Frame<'a> {
    function: &'a Function,
    info: &'a FunctionInfo,
    args: Vec<Slot>,
    slots: Vec<Slot>,
    /// start of each local variable on the stack
    locals: Vec<usize>,
}

impl<'a> Machine<'a> {
    fn module(&self) -> &'a Module {
        &self.program.module
    }

    fn call(
        &mut self,
        function: &'a Function,
        info: &'a FunctionInfo,
        args: Vec<Slot>,
    ) -> Result<Option<Words>, String> {
        let base = self.stack.len();
        let mut locals = Vec::with_capacity(function.local_variables.len());
        for (_, v) in function.local_variables.iter() {
            locals.push(self.stack.len());
            self.stack.resize(self.stack.len() + words(self.module(), v.ty), 0);
        }
        let slots = vec![Slot::Empty; function.expressions.len()];
        let mut frame = Frame { function, info, args, slots, locals };
        for (h, v) in function.local_variables.iter() {
            if let Some(init) = v.init {
                let value = self.value(&mut frame, init)?;
                let at = frame.locals[h.index()];
                self.stack[at..at + value.len()].copy_from_slice(&value);
            }
        }
        let flow = self.block(&mut frame, &function.body)?;
        self.stack.truncate(base);
        Ok(if let Flow::Return(v) = flow { v } else { None })
    }

    fn block(&mut self, f: &mut Frame<'a>, block: &'a Block) -> Result<Flow, String> {
        for statement in block.iter() {
            let waited = core::mem::replace(&mut self.waiting, false);
            match statement {
                Statement::Emit(range) => {
                    for h in range.clone() {
                        let slot = self.evaluate(f, h)?;
                        f.slots[h.index()] = slot;
                    }
                }
                Statement::Block(inner) => match self.block(f, inner)? {
                    Flow::Next => {}
                    flow => return Ok(flow),
                },
                Statement::If { condition, accept, reject } => {
                    // a condition alone is no work between barriers
                    let taken = if self.value(f, *condition)?[0] != 0 { accept } else { reject };
                    match self.block(f, taken)? {
                        Flow::Next => {}
                        flow => return Ok(flow),
                    }
                }
                Statement::Loop { body, continuing, break_if } => loop {
                    match self.block(f, body)? {
                        Flow::Break => break,
                        Flow::Return(v) => return Ok(Flow::Return(v)),
                        _ => {}
                    }
                    self.block(f, continuing)?;
                    if let Some(c) = break_if
                        && self.value(f, *c)?[0] != 0
                    {
                        break;
                    }
                    self.work.turns += 1;
                },
                Statement::Break => return Ok(Flow::Break),
                Statement::Continue => return Ok(Flow::Continue),
                Statement::Return { value } => {
                    let value = value.map(|v| self.value(f, v)).transpose()?;
                    return Ok(Flow::Return(value));
                }
                Statement::ControlBarrier(_) => self.wait(waited)?,
                Statement::Store { pointer, value } => {
                    let value = self.value(f, *value)?;
                    let (space, at) = self.place(f, *pointer)?;
                    self.store(space, at, &value);
                }
                Statement::WorkGroupUniformLoad { pointer, result } => {
                    self.wait(waited)?;
                    let (space, at) = self.place(f, *pointer)?;
                    let n = inner_words(self.module(), f.info[*result].ty.inner_with(&self.module().types));
                    f.slots[result.index()] = Slot::Value(self.load(space, at, n));
                    self.wait(false)?;
                }
                Statement::Call { function, arguments, result } => {
                    let args = arguments.iter().map(|&a| self.slot(f, a)).collect::<Result<Vec<_>, _>>()?;
                    let callee = &self.module().functions[*function];
                    let value = self.call(callee, &self.program.info[*function], args)?;
                    if let (Some(h), Some(v)) = (result, value) {
                        f.slots[h.index()] = Slot::Value(v);
                    }
                }
                other => return Err(format!("cannot count {other:?}")),
            }
        }
        Ok(Flow::Next)
    }

    /// Waits for the workgroup. Barriers side by side are one point.
    fn wait(&mut self, again: bool) -> Result<(), String> {
        self.work.barriers += u64::from(!again);
        self.waiting = true;
        self.gate.wait()
    }

    fn load(&mut self, space: Space, at: usize, n: usize) -> Words {
        match space {
            Space::Own => self.stack[at..at + n].to_vec(),
            Space::Workgroup => (at..at + n).map(|k| self.memory.workgroup_word(k)).collect(),
            Space::Uniform => self.memory.params[at..at + n].to_vec(),
            Space::Storage(b) => {
                self.work.accesses += n as u64;
                (at..at + n).map(|k| self.memory.load(b, k)).collect()
            }
        }
    }

    fn store(&mut self, space: Space, at: usize, value: &[u32]) {
        match space {
            Space::Own => self.stack[at..at + value.len()].copy_from_slice(value),
            Space::Workgroup => {
                value.iter().enumerate().for_each(|(k, &v)| self.memory.set_workgroup_word(at + k, v));
            }
            Space::Uniform => {}
            Space::Storage(b) => {
                self.work.accesses += value.len() as u64;
                value.iter().enumerate().for_each(|(k, &v)| self.memory.store(b, at + k, v));
            }
        }
    }

    fn slot(&mut self, f: &mut Frame<'a>, h: Handle<Expression>) -> Result<Slot, String> {
        match &f.slots[h.index()] {
            Slot::Empty => self.evaluate(f, h),
            known => Ok(known.clone()),
        }
    }

    fn value(&mut self, f: &mut Frame<'a>, h: Handle<Expression>) -> Result<Words, String> {
        match self.slot(f, h)? {
            Slot::Value(v) => Ok(v),
            other => Err(format!("{other:?} for a value")),
        }
    }

    fn place(&mut self, f: &mut Frame<'a>, h: Handle<Expression>) -> Result<(Space, usize), String> {
        match self.slot(f, h)? {
            Slot::Place(space, at) => Ok((space, at)),
            other => Err(format!("{other:?} for a place")),
        }
    }

    fn inner(&self, f: &Frame<'a>, h: Handle<Expression>) -> &'a TypeInner {
        f.info[h].ty.inner_with(&self.program.module.types)
    }

    /// Kind and shape of an expression's value.
    fn shape(&self, f: &Frame<'a>, h: Handle<Expression>) -> (ScalarKind, Shape) {
        shape(self.inner(f, h))
    }

    fn global(&self, h: Handle<GlobalVariable>) -> Result<Slot, String> {
        let v = &self.module().global_variables[h];
        Ok(match (v.space, &v.binding) {
            (AddressSpace::Storage { .. }, Some(b)) => Slot::Place(Space::Storage(b.binding as usize), 0),
            (AddressSpace::Uniform, _) => Slot::Place(Space::Uniform, 0),
            (AddressSpace::WorkGroup, _) => Slot::Place(Space::Workgroup, self.starts[h.index()]),
            (space, _) => return Err(format!("a variable in {space:?}")),
        })
    }

    fn evaluate(&mut self, f: &mut Frame<'a>, h: Handle<Expression>) -> Result<Slot, String> {
        let function = f.function;
        let value = match &function.expressions[h] {
            Expression::FunctionArgument(k) => return Ok(f.args[*k as usize].clone()),
            Expression::GlobalVariable(v) => return self.global(*v),
            Expression::LocalVariable(v) => return Ok(Slot::Place(Space::Own, f.locals[local(*v)])),
            Expression::Access { base, index } => {
                let index = self.value(f, *index)?[0] as usize;
                return self.access(f, *base, index);
            }
            Expression::AccessIndex { base, index } => return self.access(f, *base, *index as usize),
            Expression::Load { pointer } => {
                let (space, at) = self.place(f, *pointer)?;
                let n = inner_words(self.module(), self.inner(f, h));
                self.load(space, at, n)
            }
            Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_) => {
                self.constant(&function.expressions, h)?
            }
            Expression::Compose { components, .. } => {
                let mut out = Vec::new();
                for &c in components {
                    out.extend(self.value(f, c)?);
                }
                out
            }
            Expression::Splat { size, value } => vec![self.value(f, *value)?[0]; number(*size)],
            Expression::Swizzle { size, vector, pattern } => {
                let v = self.value(f, *vector)?;
                pattern[..number(*size)].iter().map(|&p| v[p as u8 as usize]).collect()
            }
            Expression::Unary { op, expr } => ops::unary(*op, self.shape(f, *expr).0, &self.value(f, *expr)?),
            Expression::Binary { op, left, right } => {
                let (l, r) = (self.value(f, *left)?, self.value(f, *right)?);
                let ((kind, ls), (_, rs)) = (self.shape(f, *left), self.shape(f, *right));
                let (out, flops) = ops::binary(*op, kind, (ls, &l), (rs, &r))?;
                self.work.flops += flops;
                out
            }
            Expression::Select { condition, accept, reject } => {
                let c = self.value(f, *condition)?;
                let (yes, no) = (self.value(f, *accept)?, self.value(f, *reject)?);
                let pick = |k: usize| if c[if c.len() == 1 { 0 } else { k }] != 0 { yes[k] } else { no[k] };
                (0..yes.len()).map(pick).collect()
            }
            Expression::Relational { fun, argument } => ops::relational(*fun, &self.value(f, *argument)?)?,
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let (kind, shape) = self.shape(f, *arg);
                let mut args = vec![self.value(f, *arg)?];
                for a in [arg1, arg2, arg3].into_iter().flatten() {
                    args.push(self.value(f, *a)?);
                }
                let args: Vec<&[u32]> = args.iter().map(Vec::as_slice).collect();
                let (out, flops) = ops::math(*fun, kind, shape, &args)?;
                self.work.flops += flops;
                out
            }
            Expression::As { expr, kind, convert } => {
                ops::cast(self.shape(f, *expr).0, *kind, convert.is_some(), &self.value(f, *expr)?)
            }
            other => return Err(format!("cannot count {other:?}")),
        };
        Ok(Slot::Value(value))
    }

    /// Element or member `index` of a value or of what a pointer points to.
    fn access(&mut self, f: &mut Frame<'a>, base: Handle<Expression>, index: usize) -> Result<Slot, String> {
        let module = self.module();
        let inner = match self.inner(f, base) {
            TypeInner::Pointer { base, .. } => &module.types[*base].inner,
            other => other,
        };
        let (offset, n) = match inner {
            TypeInner::Array { base, .. } => (index * words(module, *base), words(module, *base)),
            TypeInner::Vector { .. } | TypeInner::ValuePointer { .. } => (index, 1),
            TypeInner::Matrix { rows, .. } => (index * number(*rows), number(*rows)),
            TypeInner::Struct { members, .. } => {
                let before = members[..index].iter().map(|m| words(module, m.ty)).sum();
                (before, words(module, members[index].ty))
            }
            other => return Err(format!("an element of {other:?}")),
        };
        match self.slot(f, base)? {
            Slot::Place(space, at) => Ok(Slot::Place(space, at + offset)),
            Slot::Value(v) => v.get(offset..offset + n).map(|v| Slot::Value(v.to_vec())).ok_or("an index".to_owned()),
            Slot::Empty => Err("an element of nothing".to_owned()),
        }
    }

    fn constant(&self, arena: &Arena<Expression>, h: Handle<Expression>) -> Result<Words, String> {
        let module = self.module();
        Ok(match &arena[h] {
            Expression::Literal(l) => vec![match *l {
                Literal::F32(x) => x.to_bits(),
                Literal::U32(x) => x,
                Literal::I32(x) => x.cast_unsigned(),
                Literal::Bool(x) => u32::from(x),
                other => return Err(format!("a literal {other:?}")),
            }],
            Expression::Constant(c) => self.constant(&module.global_expressions, module.constants[*c].init)?,
            Expression::ZeroValue(ty) => vec![0; words(module, *ty)],
            Expression::Compose { components, .. } => {
                let parts = components.iter().map(|&c| self.constant(arena, c)).collect::<Result<Vec<_>, _>>()?;
                parts.concat()
            }
            Expression::Splat { size, value } => self.constant(arena, *value)?.repeat(number(*size)),
            other => return Err(format!("a constant {other:?}")),
        })
    }
}

fn local(v: Handle<LocalVariable>) -> usize {
    v.index()
}
