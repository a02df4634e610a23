//! From the typed form to code words.

use atoll_code::{Linked, ModuleCode, NewMap, NewValue, Translate, Translated, TranslatedFunction, registry};
use atoll_loader::instruction::{HeapNeed, Holder, Instruction, Label, Register, Shape, Source};
use atoll_term::{Export, Header, Kind, Term, Word, atoms};

use crate::handlers::{area, call, control, data, exception, map, receive, test};
use crate::operand::{Any, Operand, X, any_register, offset, resolve};
use crate::pick::{by_half, by_list, by_source, by_source_destination, by_two_sources_destination};
use crate::sites::{Advice, NewSite};
use atoll_runtime::core::{Handler, handler};
use atoll_runtime::stubs::native_of;
use atoll_runtime::{built_in, entry, mark};

mod bits;
mod calls;
mod fused;
mod operators;

/// Words of a boxed float.
const FLOAT_WORDS: u32 = 2;
/// Words of a fun without its free variables.
const FUN_WORDS: u32 = 3;

/// How allocation points are translated.
#[derive(Clone, Copy, Debug)]
pub struct Translator {
    /// Stack and heap share a block.
    pub united: bool,
    /// Collect at allocation points (`--gc-stress`).
    pub stress: bool,
    /// Allocation sites are to be known (`sites.rs`).
    pub sites: bool,
    /// Messages have words of their own, outside of heaps.
    pub in_place: bool,
}

impl Translate for Translator {
    fn translate(&self, linked: &Linked) -> Translated {
        let code = &linked.module.code;
        let mut writer = Writer::new(linked, *self);
        writer.words.reserve(code.len() * 4);
        let mut labels = vec![u32::MAX; linked.module.labels.len()];
        let mut lines = Vec::new();
        let mut starts = vec![0; linked.module.functions.len()];
        let mut function = 0;
        let mut index = 0;
        while index < code.len() {
            writer.index = index as u32;
            while function < starts.len() && linked.module.functions[function].start as usize <= index {
                starts[function] = writer.words.len() as u32;
                function += 1;
            }
            let here = writer.words.len() as u32;
            match &code[index] {
                Instruction::Label(label) => {
                    if let Some(place) = labels.get_mut(label.0 as usize) {
                        *place = here;
                    }
                    let entered = function.checked_sub(1).map(|last| &linked.module.functions[last]);
                    if let Some(entered) = entered.filter(|entered| entered.entry == *label) {
                        writer.built_in_override(entered.name.0, entered.arity);
                        writer.missing_built_in(entered.name.0, entered.arity, &code[index + 1..]);
                    }
                    index += 1;
                }
                Instruction::Line(line) => {
                    lines.push((here, *line));
                    index += 1;
                }
                _ => index += writer.instruction(&code[index..]),
            }
        }
        let Writer { mut words, fixes, sites, built_in_calls, .. } = writer;
        words.push(END);
        let mut words = words.into_boxed_slice();
        let start = words.as_ptr() as Word;
        for (place, label) in fixes {
            let target = labels.get(label.0 as usize).copied().filter(|target| *target != u32::MAX).unwrap_or(0);
            words[place] = start + Word::from(target) * 8;
        }
        let advice = if self.sites { advice(linked) } else { Advice::default() };
        let add = move || crate::sites::add(start as usize, sites, advice);
        let loaded = self.sites.then(|| Box::new(add) as Box<dyn FnOnce() + Send + Sync>);
        Translated { words, labels, functions: starts, built_in_calls, lines, loaded }
    }

    fn translate_function(
        &self,
        linked: &Linked,
        code: &ModuleCode,
        function: usize,
        marks: &[u32],
    ) -> TranslatedFunction {
        let module = &linked.module;
        let range = module.functions[function].start as usize..module.functions[function].end as usize;
        let mut writer = Writer::new(linked, *self);
        let mut labels = vec![u32::MAX; module.labels.len()];
        let mut lines = Vec::new();
        let (mut places, mut placed) = (Vec::with_capacity(range.len()), Vec::with_capacity(marks.len()));
        for index in range.clone() {
            let here = writer.words.len() as u32;
            writer.index = index as u32;
            if marks.get(placed.len()).is_some_and(|mark| *mark as usize == index) {
                placed.push(here);
                writer.emit(mark::passed, &[0]);
            }
            places.push(writer.words.len() as u32);
            match &module.code[index] {
                Instruction::Label(label) => labels[label.0 as usize] = here,
                Instruction::Line(line) => lines.push((writer.words.len() as u32, *line)),
                // A call of a fun in a tail position is one instruction with what follows it, or loops would use ever
                // more stack.
                Instruction::CallFun { .. } | Instruction::CallFun2 { .. }
                    if writer.fused(&module.code[index..range.end]).is_some() => {}
                other => writer.single(other),
            }
        }
        let Writer { mut words, fixes, sites, built_in_calls, .. } = writer;
        words.push(END);
        let mut words = words.into_boxed_slice();
        let start = words.as_ptr() as Word;
        // A call of the function itself enters its native code, or a loop that left it once would not go back.
        labels[module.functions[function].entry.0 as usize] = u32::MAX;
        for (place, label) in fixes {
            words[place] = match labels[label.0 as usize] {
                u32::MAX => {
                    let callee = module.functions.iter().position(|function| function.entry == label);
                    callee.map_or(start, |callee| code.address(code.entries[callee]) as Word)
                }
                inside => start + Word::from(inside) * 8,
            };
        }
        let original = code.words.as_ptr() as usize;
        let add = move || crate::sites::add_copy(start as usize, original, sites);
        let loaded = self.sites.then(|| Box::new(add) as Box<dyn FnOnce() + Send + Sync>);
        TranslatedFunction { words, places, marks: placed, built_in_calls, lines, loaded }
    }

    fn forget(&self, words: &[Word]) {
        if self.sites {
            crate::sites::forget(words.as_ptr() as usize);
        }
    }
}

/// What the message analysis says of a module's sites.
fn advice(linked: &Linked) -> Advice {
    let is_built_in = |name: &str, arity: u8| {
        let number = |name| registry().built_in_number(linked.atoms[0], name, arity);
        atoms::existing_atom(name).is_some_and(|name| number(name).is_some())
    };
    Advice::of(&linked.module, is_built_in)
}

/// The word behind all code: a call may be the last instruction, and its return address is that of a word.
const END: Word = 0;

struct Writer<'l> {
    linked: &'l Linked,
    translator: Translator,
    words: Vec<Word>,
    /// Index of the instruction that is translated.
    index: u32,
    /// Words that become the address of a label.
    fixes: Vec<(usize, Label)>,
    /// Where objects are built, if the architecture wants to know.
    sites: Vec<NewSite>,
    /// Where built-in functions are called.
    built_in_calls: Vec<u32>,
}

/// Functions that OTP's machine has instructions for: calls of them are not traced there.
fn is_like_instruction(export: &Export) -> bool {
    let name = atoms::atom_name(export.name);
    export.module == atoms::ERLANG && matches!((name, export.arity), ("apply", 2 | 3) | ("hibernate", 3) | ("yield", 0))
}

impl<'l> Writer<'l> {
    fn new(linked: &'l Linked, translator: Translator) -> Writer<'l> {
        let (words, fixes, sites, built_in_calls) = Default::default();
        Writer { linked, translator, words, index: 0, fixes, sites, built_in_calls }
    }

    /// An instruction that builds an object: its handlers for the process's heap and for the message area.
    fn emit_site(&mut self, is_cons: bool, private: Handler, area: Handler, operands: &[Word]) {
        if self.translator.sites {
            self.sites.push(NewSite { offset: self.words.len() as u32, index: self.index, is_cons, private, area });
        }
        self.emit(private, operands);
    }

    fn emit(&mut self, instruction: Handler, operands: &[Word]) {
        self.words.push(handler(instruction));
        self.words.extend_from_slice(operands);
    }

    /// A call of a built-in function, or its code.
    fn emit_built_in(&mut self, instruction: Handler, export: &'static Export, number: u32, frame: Option<u16>) {
        if !is_like_instruction(export) {
            self.built_in_calls.push(self.words.len() as u32);
        }
        let address = std::ptr::from_ref(export) as Word;
        self.emit(instruction, &[native_of(number), export.arity.into(), address]);
        self.words.extend(frame.map(offset));
    }

    /// The next operand is the address of a label; 0 for none.
    fn label(&mut self, label: Label) {
        if label != Label::NONE {
            self.fixes.push((self.words.len(), label));
        }
        self.words.push(0);
    }

    /// An instruction whose first operand is a label.
    fn emit_with_label(&mut self, instruction: Handler, label: Label, operands: &[Word]) {
        self.words.push(handler(instruction));
        self.label(label);
        self.words.extend_from_slice(operands);
    }

    fn operand(&self, source: Source) -> Operand {
        resolve(source, &self.linked.atoms, &self.linked.literals)
    }

    fn register(&self, register: Register) -> Operand {
        self.operand(register.into())
    }

    fn any(&self, source: Source) -> Word {
        self.operand(source).any()
    }

    fn need_words(need: HeapNeed) -> Word {
        Word::from(need.words) + Word::from(need.floats * FLOAT_WORDS) + Word::from(need.funs * FUN_WORDS)
    }

    /// Bytes of a frame, of what is wanted with it, and of the word below it.
    fn frame_room(slots: u16, need: HeapNeed) -> Word {
        (Self::need_words(need) + Word::from(slots) + 1) * 8
    }

    /// At the entry of a function that is built in, its body is the built-in function.
    fn built_in_override(&mut self, name: u32, arity: u8) {
        let (module, name) = (self.linked.atoms[0], self.linked.atoms[name as usize]);
        if let Some(number) = registry().built_in_number(module, name, arity) {
            let export = registry().export(module, name, arity);
            self.emit_built_in(built_in::built_in_body, export, number, None);
        }
    }

    /// A function of OTP's own modules whose body only says that it ought to be built in is one that this machine
    /// does not have: it raises `undef` under its own name.
    fn missing_built_in(&mut self, name: u32, arity: u8, body: &[Instruction]) {
        let first_call = body.iter().find_map(|instruction| match instruction {
            Instruction::CallExt { target, .. }
            | Instruction::CallExtOnly { target, .. }
            | Instruction::CallExtLast { target, .. } => Some(Some(target.0)),
            // What a program's own native functions say is left to them.
            Instruction::Move { source: Source::Atom(atom), .. }
                if matches!(self.linked.atoms[atom.0 as usize], atoms::UNDEF | atoms::UNDEFINED) =>
            {
                None
            }
            Instruction::Line(_) | Instruction::NifStart => None,
            Instruction::Allocate { .. } | Instruction::Label(_) => None,
            _ => Some(None),
        });
        let Some(Some(import)) = first_call else { return };
        let called = self.linked.imports[import as usize];
        if called.module == atoms::ERLANG && called.name == atoms::NIF_ERROR && called.arity == 1 {
            let export = registry().export(self.linked.atoms[0], self.linked.atoms[name as usize], arity);
            self.emit(entry::missing_built_in, &[std::ptr::from_ref(export) as Word]);
        }
    }

    /// Translates the first instruction, or several that make one; returns how many.
    fn instruction(&mut self, code: &[Instruction]) -> usize {
        if let Some(taken) = self.fused(code) {
            return taken;
        }
        self.single(&code[0]);
        1
    }

    /// Translates one instruction by itself.
    fn single(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Label(_) | Instruction::Line(_) | Instruction::NifStart | Instruction::OnLoad => {}
            Instruction::FuncInfo { module, name, arity } => {
                let atoms = &self.linked.atoms;
                let (module, name) = (atoms[module.0 as usize].word(), atoms[name.0 as usize].word());
                // The last two stand in front of the function's first instruction: a library's function
                // (`atoll_code::set_native`), and another engine's code.
                self.emit(exception::func_info, &[module, name, (*arity).into(), 0, 0]);
            }
            Instruction::Unsupported { opcode } => self.emit(call::unsupported, &[(*opcode).into()]),
            other => {
                if !(self.control(other) || self.data(other) || self.test(other) || self.exception(other)) {
                    let done = self.receive(other) || self.float(other) || self.bits(other) || self.old_bits(other);
                    debug_assert!(done, "no translation of {other:?}");
                }
            }
        }
    }

    fn data(&mut self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::Expect { shape, value } => {
                let (kind, number) = match *shape {
                    Shape::Cons => (test::CONS, 0),
                    Shape::Tuple { least } => (test::TUPLE, least),
                    Shape::TupleOf { arity } => (test::TUPLE_OF, arity),
                    Shape::Map => (test::MAP, 0),
                    Shape::Float => (test::FLOAT, 0),
                };
                self.emit(test::expect, &[self.any(*value), kind, number.into()]);
            }
            Instruction::Move { source, destination } => {
                let (s, d) = (self.operand(*source), self.register(*destination));
                self.emit(by_source_destination!(data::move_, s, d), &[s.word(), d.word()]);
            }
            Instruction::Swap { first, second } => {
                let (s, t) = (self.register(*first), self.register(*second));
                match (s, t) {
                    (Operand::X(_), Operand::X(_)) => self.emit(data::swap::<X, X>, &[s.word(), t.word()]),
                    _ => self.emit(data::swap::<Any, Any>, &[s.any(), t.any()]),
                }
            }
            Instruction::PutList { head, tail, destination } => {
                let (h, t, d) = (self.operand(*head), self.operand(*tail), self.register(*destination));
                let chosen = by_two_sources_destination!(data::put_list, h, t, d);
                let in_area = by_two_sources_destination!(area::put_list, h, t, d);
                self.emit_site(true, chosen, in_area, &[h.word(), t.word(), d.word()]);
            }
            Instruction::PutTuple { destination, elements } if elements.len() == 2 => {
                let (s, t, d) = (self.operand(elements[0]), self.operand(elements[1]), self.register(*destination));
                let chosen = by_two_sources_destination!(data::put_pair, s, t, d);
                let in_area = by_two_sources_destination!(area::put_pair, s, t, d);
                self.emit_site(false, chosen, in_area, &[d.word(), s.word(), t.word()]);
            }
            Instruction::PutTuple { destination, elements } => {
                let header = Header::new(Kind::Tuple, elements.len()).word();
                self.emit_site(false, data::put_tuple, area::put_tuple, &[any_register(*destination), header]);
                for element in elements {
                    self.words.push(self.any(*element));
                }
            }
            Instruction::SetTupleElement { value, tuple, position } => {
                let place = (u64::from(*position) + 1) * 8;
                self.emit(data::set_tuple_element, &[self.any(*value), any_register(*tuple), place]);
            }
            Instruction::UpdateRecord { size, source, destination, updates } => {
                let header = Header::new(Kind::Tuple, *size as usize).word();
                let operands = [self.any(*source), any_register(*destination), header, updates.len() as Word];
                self.emit(data::update_record, &operands);
                for (position, value) in updates {
                    self.words.extend_from_slice(&[u64::from(*position), self.any(*value)]);
                }
            }
            Instruction::GetList { source, head, tail } => {
                let (s, h, t) = (self.register(*source), self.register(*head), self.register(*tail));
                self.emit(by_list!(data::get_list, s, h, t), &[s.word(), h.word(), t.word()]);
            }
            Instruction::GetHead { source, head } => {
                let (s, d) = (self.register(*source), self.register(*head));
                self.emit(by_half!(0, s, d), &[s.word(), d.word()]);
            }
            Instruction::GetTail { source, tail } => {
                let (s, d) = (self.register(*source), self.register(*tail));
                self.emit(by_half!(1, s, d), &[s.word(), d.word()]);
            }
            Instruction::GetTupleElement { source, position, destination } => {
                let (s, d) = (self.register(*source), self.register(*destination));
                let chosen = by_source_destination!(data::get_tuple_element, s, d);
                self.emit(chosen, &[s.word(), (u64::from(*position) + 1) * 8, d.word()]);
            }
            Instruction::MakeFun { lambda, destination, free } => {
                let entry = std::ptr::from_ref(self.linked.lambdas[lambda.0 as usize]) as Word;
                self.emit(data::make_fun, &[entry, any_register(*destination)]);
                for variable in free {
                    self.words.push(self.any(*variable));
                }
            }
            Instruction::PutMap { fail, exact, map: old, destination, pairs, .. } => {
                if let Some(new) = self.new_map_of(instruction) {
                    self.new_map(new, pairs, *destination);
                    return true;
                }
                let chosen: Handler = if *exact { map::put_map::<true> } else { map::put_map::<false> };
                let operands = [self.any(*old), any_register(*destination), pairs.len() as Word];
                self.emit_with_label(chosen, *fail, &operands);
                for (key, value) in pairs {
                    self.words.extend_from_slice(&[self.any(*key), self.any(*value)]);
                }
            }
            _ => return false,
        }
        true
    }

    /// The new map that an instruction makes.
    fn new_map_of(&self, instruction: &Instruction) -> Option<&'l NewMap> {
        let index = self.index as usize;
        std::ptr::eq(instruction, &raw const self.linked.module.code[index])
            .then(|| self.linked.new_maps.get(&index))
            .flatten()
    }

    fn new_map(&mut self, new: &NewMap, pairs: &[(Source, Source)], destination: Register) {
        let operands = [new.keys.word(), any_register(destination), new.values.len() as Word];
        self.emit(map::new_map, &operands);
        for value in &new.values {
            self.words.push(match value {
                NewValue::Given(pair) => self.any(pairs[*pair].1),
                NewValue::Kept(term) => Operand::K(*term).any(),
            });
        }
    }

    fn test(&mut self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::Test { fail, test, value } => {
                let s = self.operand(*value);
                let chosen = crate::pick::type_test(*test, s);
                self.emit_with_label(chosen, *fail, &[s.word()]);
            }
            Instruction::TestFunctionArity { fail, value, arity } => {
                self.emit_with_label(test::is_function_of_arity, *fail, &[self.any(*value), self.any(*arity)]);
            }
            Instruction::TestArity { fail, value, arity } => {
                let s = self.operand(*value);
                let chosen = by_source!(test::test_arity, s);
                self.emit_with_label(chosen, *fail, &[s.word(), control::tuple_header(*arity)]);
            }
            Instruction::TestTaggedTuple { fail, value, arity, tag } => {
                let s = self.operand(*value);
                let tag = self.linked.atoms[tag.0 as usize].word();
                let chosen = by_source!(test::is_tagged_tuple, s);
                self.emit_with_label(chosen, *fail, &[s.word(), control::tuple_header(*arity), tag]);
            }
            Instruction::Compare { fail, comparison, left, right } => {
                self.compare(*fail, *comparison, *left, *right);
            }
            Instruction::HasMapFields { fail, map, keys } => {
                self.emit_with_label(test::has_map_fields, *fail, &[self.any(*map), keys.len() as Word]);
                for key in keys {
                    self.words.push(self.any(*key));
                }
            }
            Instruction::GetMapElements { fail, map, pairs } => {
                self.emit_with_label(test::get_map_elements, *fail, &[self.any(*map), pairs.len() as Word]);
                for (key, destination) in pairs {
                    self.words.extend_from_slice(&[self.any(*key), any_register(*destination)]);
                }
            }
            Instruction::Bif { fail, bif, arguments, destination }
            | Instruction::GcBif { fail, bif, arguments, destination, .. } => {
                let export = self.linked.imports[bif.0 as usize];
                self.guard(*fail, export, arguments, *destination);
            }
            _ => return false,
        }
        true
    }

    fn exception(&mut self, instruction: &Instruction) -> bool {
        let tagged = |tag: Term, value: &Source| (tag, *value);
        let (tag, value) = match instruction {
            Instruction::BadMatch(value) => tagged(atoms::BADMATCH, value),
            Instruction::CaseEnd(value) => tagged(atoms::CASE_CLAUSE, value),
            Instruction::TryCaseEnd(value) => tagged(atoms::TRY_CLAUSE, value),
            Instruction::BadRecord(value) => tagged(atoms::BADRECORD, value),
            Instruction::IfEnd => {
                self.emit(exception::if_end, &[]);
                return true;
            }
            Instruction::Catch { slot, handler: at } | Instruction::Try { slot, handler: at } => {
                self.emit(exception::catch, &[offset(*slot)]);
                self.label(*at);
                return true;
            }
            Instruction::CatchEnd { slot } => {
                self.emit(exception::catch_end, &[offset(*slot)]);
                return true;
            }
            Instruction::TryEnd { slot } => {
                self.emit(exception::try_end, &[offset(*slot)]);
                return true;
            }
            Instruction::TryCase { slot } => {
                self.emit(exception::try_case, &[offset(*slot)]);
                return true;
            }
            Instruction::Raise { trace, reason } => {
                self.emit(exception::raise_again, &[self.any(*trace), self.any(*reason)]);
                return true;
            }
            Instruction::BuildStacktrace => {
                self.emit(exception::build_stacktrace, &[]);
                return true;
            }
            Instruction::RawRaise => {
                self.emit(exception::raw_raise, &[]);
                return true;
            }
            _ => return false,
        };
        self.emit(exception::raise_tagged, &[tag.word(), self.any(value)]);
        true
    }

    fn receive(&mut self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::Send => {
                // As OTP does, errors of `!` name `send`.
                let name = atoms::atom("send").unwrap_or(atoms::SEND_OPERATOR);
                let export = registry().export(atoms::ERLANG, name, 2);
                self.emit(receive::send, &[std::ptr::from_ref(export) as Word]);
            }
            Instruction::LoopRec { fail, destination, in_place } => {
                let stays = *in_place && self.translator.in_place;
                let chosen: Handler = if stays { receive::loop_rec_in_place } else { receive::loop_rec };
                self.emit_with_label(chosen, *fail, &[any_register(*destination)]);
            }
            Instruction::KeepMessage => self.emit(receive::keep_message, &[]),
            Instruction::LoopRecEnd(target) => self.emit_with_label(receive::loop_rec_end, *target, &[]),
            Instruction::RemoveMessage(holder) => match holder {
                Holder::Nothing if self.translator.in_place => self.emit(receive::remove_unheld, &[]),
                Holder::Unread(x) if self.translator.in_place => self.emit(receive::remove_unread, &[offset(*x)]),
                Holder::Read(x) if self.translator.in_place => self.emit(receive::remove_held, &[offset(*x)]),
                _ => self.emit(receive::remove_message, &[]),
            },
            Instruction::Wait(target) => self.emit_with_label(receive::wait, *target, &[]),
            Instruction::WaitTimeout { fail, time } => {
                self.emit_with_label(receive::wait_timeout, *fail, &[self.any(*time)]);
            }
            Instruction::Timeout => self.emit(receive::timeout, &[]),
            Instruction::RecvMarkerReserve(destination) => {
                self.emit(receive::marker_reserve, &[any_register(*destination)]);
            }
            Instruction::RecvMarkerBind { marker, reference } => {
                self.emit(receive::marker_bind, &[self.any(*marker), self.any(*reference)]);
            }
            Instruction::RecvMarkerClear(which) => self.emit(receive::marker_clear, &[self.any(*which)]),
            Instruction::RecvMarkerUse(reference) => self.emit(receive::marker_use, &[self.any(*reference)]),
            _ => return false,
        }
        true
    }
}
