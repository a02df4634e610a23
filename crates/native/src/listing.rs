//! What native code of a function looks like, for people.

use std::fmt::Write;
use std::sync::Arc;

use atoll_code::{Linked, ModuleCode};
use atoll_loader::instruction_text;
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, Mnemonic};

use crate::engine::{Generated, engine};
use crate::flow::Head;

/// The native code of the functions of this name, of any arity if none is given, region by region, as it would be made
/// for a process that has run none of it yet. Addresses count from the start of each function's code.
///
/// # Errors
/// There is no such function, no code generator, or the function stays with the first engine.
pub fn listing(code: &Arc<ModuleCode>, name: &str, arity: Option<u8>) -> Result<String, String> {
    let engine = engine().ok_or("there is no code generator for this processor")?;
    let linked = code.linked().ok_or("the file of the module is not kept")?;
    let module = &linked.module;
    let mut text = String::new();
    for (number, function) in module.functions.iter().enumerate() {
        if module.atom(function.name) != name || arity.is_some_and(|arity| arity != function.arity) {
            continue;
        }
        let title = format!("{}:{name}/{}", module.name(), function.arity);
        let made = match engine.generate(code, &linked, number, false) {
            Some(made) => Ok(made),
            None => engine.generate(code, &linked, number, true).ok_or(()),
        };
        let written = match made {
            Ok(made) => write_function(&mut text, &title, &linked, &made),
            Err(()) => writeln!(text, "{title} stays with the interpreter"),
        };
        written.map_err(|error| error.to_string())?;
    }
    if text.is_empty() {
        return Err(format!("module {} has no function {name}", module.name()));
    }
    Ok(text)
}

fn write_function(text: &mut String, title: &str, linked: &Linked, made: &Generated) -> std::fmt::Result {
    let compiled = &made.compiled;
    let bytes = compiled.block.bytes();
    writeln!(text, "{title}: {} regions, {} bytes", compiled.heads.len(), compiled.size)?;
    let mut starts: Vec<(usize, usize)> = compiled.heads.iter().map(|(head, start)| (*start, *head)).collect();
    starts.sort_unstable();
    for (place, (start, head)) in starts.iter().enumerate() {
        let entered = match made.heads[head] {
            Head::Function => "by calls",
            Head::Return => "by returns",
            Head::Point => "from the interpreter and other regions",
        };
        let first = instruction_text(&linked.module, &linked.module.code[*head]);
        writeln!(text, "\n  entered {entered}, at {first}")?;
        let end = starts.get(place + 1).map_or(compiled.size, |(next, _)| *next);
        write_code(text, &bytes[..end], *start)?;
    }
    writeln!(text)
}

/// Writes the code from `start` on, without padding.
fn write_code(text: &mut String, bytes: &[u8], start: usize) -> std::fmt::Result {
    let mut decoder = Decoder::with_ip(64, &bytes[start..], start as u64, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        // Nothing but padding, behind regions and behind jumps to other code, is this instruction.
        if instruction.mnemonic() == Mnemonic::Int3 {
            continue;
        }
        let mut line = String::new();
        formatter.format(&instruction, &mut line);
        writeln!(text, "    {:5x}  {line}", instruction.ip())?;
    }
    Ok(())
}
