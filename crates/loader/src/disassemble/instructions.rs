//! The text of each instruction.

use crate::instruction::{Comparison, FloatOperation, Instruction, Shape, Source, TypeTest};
use crate::opcodes;

use super::Line;

impl Line<'_> {
    /// Writes one instruction other than a label.
    pub(super) fn instruction(&mut self, instruction: &Instruction) {
        use Instruction as I;
        match instruction {
            I::Label(label) => self.name("label").with(label.0),
            I::FuncInfo { module, name, arity } => {
                let (module, name) = (self.show_atom(*module), self.show_atom(*name));
                self.name("func_info").with(module).with(name).with(arity)
            }
            I::Line(index) => self.name("line").place(*index),
            I::NifStart => self.name("nif_start"),
            I::OnLoad => self.name("on_load"),

            I::Call { arity, target } => self.name("call").local(*target, *arity),
            I::CallLast { arity, target, deallocate } => self.name("call_last").local(*target, *arity).with(deallocate),
            I::CallOnly { arity, target } => self.name("call_only").local(*target, *arity),
            I::CallExt { target, .. } => self.name("call_ext").import(*target),
            I::CallExtLast { target, deallocate, .. } => self.name("call_ext_last").import(*target).with(deallocate),
            I::CallExtOnly { target, .. } => self.name("call_ext_only").import(*target),
            I::CallFun { arity } => self.name("call_fun").with(arity),
            I::CallFun2 { safe, arity, fun } => {
                let name = if *safe { "call_fun2 safe" } else { "call_fun2 unsafe" };
                self.name(name).with(arity).source(*fun)
            }
            I::Apply { arity } => self.name("apply").with(arity),
            I::ApplyLast { arity, deallocate } => self.name("apply_last").with(arity).with(deallocate),
            I::Return => self.name("return"),

            I::Allocate { slots, need, live } => self.name("allocate").with(slots).need(*need).live(*live),
            I::TestHeap { need, live } => self.name("test_heap").need(*need).live(*live),
            I::Deallocate { slots } => self.name("deallocate").with(slots),
            I::Trim { slots, remaining } => self.name("trim").with(slots).with(remaining),
            I::InitYregs(slots) => self.name("init_yregs").list(slots.iter().map(|slot| format!("y{slot}"))),

            I::Expect { shape, value } => {
                let shape = match shape {
                    Shape::Cons => "cons".to_owned(),
                    Shape::Tuple { least } => format!("tuple of at least {least}"),
                    Shape::TupleOf { arity } => format!("tuple of {arity}"),
                    Shape::Map => "map".to_owned(),
                    Shape::Float => "float".to_owned(),
                };
                self.name("expect").source(*value).with(shape)
            }
            I::Move { source, destination } => self.name("move").source(*source).to(*destination),
            I::Swap { first, second } => self.name("swap").source(*first).source(*second),
            I::PutList { head, tail, destination } => {
                self.name("put_list").source(*head).source(*tail).to(*destination)
            }
            I::PutTuple { destination, elements } => self.name("put_tuple").sources(elements).to(*destination),
            I::SetTupleElement { value, tuple, position } => {
                self.name("set_tuple_element").source(*value).source(*tuple).with(position)
            }
            I::UpdateRecord { size, source, destination, updates } => {
                let items: Vec<String> =
                    updates.iter().map(|&(position, value)| format!("{position}: {}", self.show(value))).collect();
                self.name("update_record").with(size).source(*source).list(items.into_iter()).to(*destination)
            }
            I::GetList { source, head, tail } => {
                let tail = self.show((*tail).into());
                self.name("get_list").source(*source).to(*head).with(tail)
            }
            I::GetHead { source, head } => self.name("get_hd").source(*source).to(*head),
            I::GetTail { source, tail } => self.name("get_tl").source(*source).to(*tail),
            I::GetTupleElement { source, position, destination } => {
                self.name("get_tuple_element").source(*source).with(position).to(*destination)
            }
            I::MakeFun { lambda, destination, free } => {
                self.name("make_fun").lambda(*lambda).sources(free).to(*destination)
            }

            I::Jump(label) => self.name("jump").with(format_args!("L{}", label.0)),
            I::Test { fail, test, value } => self.name(type_test(*test)).source(*value).fail(*fail),
            I::TestFunctionArity { fail, value, arity } => {
                self.name("is_function2").source(*value).source(*arity).fail(*fail)
            }
            I::TestArity { fail, value, arity } => self.name("test_arity").source(*value).with(arity).fail(*fail),
            I::TestTaggedTuple { fail, value, arity, tag } => {
                let tag = self.show_atom(*tag);
                self.name("is_tagged_tuple").source(*value).with(arity).with(tag).fail(*fail)
            }
            I::Compare { fail, comparison: operator, left, right } => {
                self.name(comparison(*operator)).source(*left).source(*right).fail(*fail)
            }
            I::SelectValue { value, fail, cases } => {
                let items: Vec<String> =
                    cases.iter().map(|&(key, label)| format!("{}: L{}", self.show(key), label.0)).collect();
                self.name("select_val").source(*value).list(items.into_iter()).fail(*fail)
            }
            I::SelectTupleArity { value, fail, cases } => self
                .name("select_tuple_arity")
                .source(*value)
                .list(cases.iter().map(|(arity, label)| format!("{arity}: L{}", label.0)))
                .fail(*fail),

            I::Bif { fail, bif, arguments, destination } => {
                self.name("bif").import(*bif).sources(arguments).fail(*fail).to(*destination)
            }
            I::GcBif { fail, live, bif, arguments, destination } => {
                self.name("gc_bif").import(*bif).sources(arguments).live(*live).fail(*fail).to(*destination)
            }
            I::Unsupported { opcode } => {
                let name = opcodes::opcode(*opcode).map_or("unknown", |opcode| opcode.name);
                self.name("unsupported").with(name)
            }
            other => self.exceptions_and_messages(other),
        };
    }

    fn exceptions_and_messages(&mut self, instruction: &Instruction) -> &mut Self {
        use Instruction as I;
        match instruction {
            I::BadMatch(value) => self.name("badmatch").source(*value),
            I::IfEnd => self.name("if_end"),
            I::CaseEnd(value) => self.name("case_end").source(*value),
            I::BadRecord(value) => self.name("badrecord").source(*value),
            I::TryCaseEnd(value) => self.name("try_case_end").source(*value),
            I::Catch { slot, handler } => {
                self.name("catch").source(Source::Y(*slot)).with(format_args!("L{}", handler.0))
            }
            I::CatchEnd { slot } => self.name("catch_end").source(Source::Y(*slot)),
            I::Try { slot, handler } => self.name("try").source(Source::Y(*slot)).with(format_args!("L{}", handler.0)),
            I::TryEnd { slot } => self.name("try_end").source(Source::Y(*slot)),
            I::TryCase { slot } => self.name("try_case").source(Source::Y(*slot)),
            I::Raise { trace, reason } => self.name("raise").source(*trace).source(*reason),
            I::BuildStacktrace => self.name("build_stacktrace"),
            I::RawRaise => self.name("raw_raise"),

            I::Send => self.name("send"),
            I::LoopRec { fail, destination, .. } => self.name("loop_rec").fail(*fail).to(*destination),
            I::KeepMessage => self.name("keep_message"),
            I::LoopRecEnd(label) => self.name("loop_rec_end").with(format_args!("L{}", label.0)),
            I::RemoveMessage(_) => self.name("remove_message"),
            I::Wait(label) => self.name("wait").with(format_args!("L{}", label.0)),
            I::WaitTimeout { fail, time } => self.name("wait_timeout").source(*time).with(format_args!("L{}", fail.0)),
            I::Timeout => self.name("timeout"),
            I::RecvMarkerReserve(marker) => self.name("recv_marker_reserve").to(*marker),
            I::RecvMarkerBind { marker, reference } => self.name("recv_marker_bind").source(*marker).source(*reference),
            I::RecvMarkerClear(reference) => self.name("recv_marker_clear").source(*reference),
            I::RecvMarkerUse(reference) => self.name("recv_marker_use").source(*reference),

            I::FloatLoad { source, destination } => {
                self.name("fmove").source(*source).with(format_args!("fr{destination}"))
            }
            I::FloatStore { source, destination } => {
                self.name("fmove").with(format_args!("fr{source}")).to(*destination)
            }
            I::FloatConvert { source, destination } => {
                self.name("fconv").source(*source).with(format_args!("fr{destination}"))
            }
            I::FloatArithmetic { operation, left, right, destination } => self
                .name(match operation {
                    FloatOperation::Add => "fadd",
                    FloatOperation::Subtract => "fsub",
                    FloatOperation::Multiply => "fmul",
                    FloatOperation::Divide => "fdiv",
                })
                .with(format_args!("fr{left}, fr{right}, fr{destination}")),
            I::FloatNegate { source, destination } => {
                self.name("fnegate").with(format_args!("fr{source}, fr{destination}"))
            }
            other => self.bits_and_maps(other),
        }
    }
}

fn comparison(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Less => "is_lt",
        Comparison::GreaterOrEqual => "is_ge",
        Comparison::Equal => "is_eq",
        Comparison::NotEqual => "is_ne",
        Comparison::ExactlyEqual => "is_eq_exact",
        Comparison::NotExactlyEqual => "is_ne_exact",
    }
}

fn type_test(test: TypeTest) -> &'static str {
    match test {
        TypeTest::Integer => "is_integer",
        TypeTest::Float => "is_float",
        TypeTest::Number => "is_number",
        TypeTest::Atom => "is_atom",
        TypeTest::Pid => "is_pid",
        TypeTest::Reference => "is_reference",
        TypeTest::Port => "is_port",
        TypeTest::Nil => "is_nil",
        TypeTest::Binary => "is_binary",
        TypeTest::Bitstring => "is_bitstr",
        TypeTest::List => "is_list",
        TypeTest::NonemptyList => "is_nonempty_list",
        TypeTest::Tuple => "is_tuple",
        TypeTest::Map => "is_map",
        TypeTest::Function => "is_function",
        TypeTest::Boolean => "is_boolean",
        TypeTest::NativeRecord => "is_any_native_record",
    }
}
