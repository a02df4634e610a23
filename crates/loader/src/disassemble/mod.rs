//! Modules as text for people.

mod bits;
mod instructions;
mod term;

use std::fmt::{self, Write};

use crate::instruction::{
    AtomIndex, BitFlags, HeapNeed, ImportIndex, Instruction, Label, LambdaIndex, LiteralIndex, Register, Source,
};
use crate::module::Module;
use term::{Atom, External};

/// Writes the code of a module, function by function.
///
/// # Errors
///
/// Those of `out`.
pub fn disassemble(module: &Module, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "module {}", Atom(module.name()))?;
    for function in &module.functions {
        writeln!(out, "\n{}/{}:", Atom(module.atom(function.name)), function.arity)?;
        for instruction in &module.code[function.start as usize..function.end as usize] {
            if let Instruction::Label(label) = instruction {
                writeln!(out, "  L{}:", label.0)?;
                continue;
            }
            writeln!(out, "    {}", instruction_text(module, instruction))?;
        }
    }
    Ok(())
}

/// The text of one instruction of a module; of a label, its name.
pub fn instruction_text(module: &Module, instruction: &Instruction) -> String {
    if let Instruction::Label(label) = instruction {
        return format!("L{}", label.0);
    }
    let mut line = Line { module, text: String::new() };
    line.instruction(instruction);
    line.text
}

/// One instruction's text as it grows: its name, then operands with commas between them.
struct Line<'a> {
    module: &'a Module,
    text: String,
}

impl Line<'_> {
    /// Starts with the name of the instruction.
    fn name(&mut self, name: &str) -> &mut Self {
        self.text.push_str(name);
        self
    }

    /// Appends an operand.
    fn with(&mut self, operand: impl fmt::Display) -> &mut Self {
        let separator = if self.text.contains(' ') { ", " } else { " " };
        self.text.push_str(separator);
        self.text.push_str(&operand.to_string());
        self
    }

    fn show(&self, source: Source) -> String {
        match source {
            Source::X(index) => format!("x{index}"),
            Source::Y(index) => format!("y{index}"),
            Source::Small(value) => value.to_string(),
            Source::Atom(atom) => self.show_atom(atom),
            Source::Nil => "[]".to_owned(),
            Source::Literal(LiteralIndex(index)) => External(&self.module.literals[index as usize]).to_string(),
        }
    }

    fn show_atom(&self, atom: AtomIndex) -> String {
        // Always quoted, so that no atom looks like a register.
        let text = Atom(self.module.atom(atom)).to_string();
        if text.starts_with('\'') { text } else { format!("'{text}'") }
    }

    fn source(&mut self, source: impl Into<Source>) -> &mut Self {
        let text = self.show(source.into());
        self.with(text)
    }

    /// Operands in brackets.
    fn list(&mut self, items: impl Iterator<Item = String>) -> &mut Self {
        let items: Vec<String> = items.collect();
        self.with(format_args!("[{}]", items.join(", ")))
    }

    fn sources(&mut self, sources: &[Source]) -> &mut Self {
        let items: Vec<String> = sources.iter().map(|&source| self.show(source)).collect();
        self.list(items.into_iter())
    }

    /// Where a result goes.
    fn to(&mut self, destination: Register) -> &mut Self {
        let text = self.show(destination.into());
        self.text.push_str(" -> ");
        self.text.push_str(&text);
        self
    }

    /// Where a failing test goes; nothing if it raises.
    fn fail(&mut self, label: Label) -> &mut Self {
        if label == Label::NONE { self } else { self.with(format_args!("else L{}", label.0)) }
    }

    fn live(&mut self, live: u16) -> &mut Self {
        self.with(format_args!("live {live}"))
    }

    fn need(&mut self, need: HeapNeed) -> &mut Self {
        for (amount, what) in [(need.words, "words"), (need.floats, "floats"), (need.funs, "funs")] {
            if amount > 0 {
                self.with(format_args!("{amount} {what}"));
            }
        }
        self
    }

    fn flags(&mut self, flags: BitFlags) -> &mut Self {
        for (flag, name) in [(flags.little, "little"), (flags.signed, "signed")] {
            if flag {
                self.with(name);
            }
        }
        self
    }

    fn import(&mut self, index: ImportIndex) -> &mut Self {
        let import = self.module.imports[index.0 as usize];
        let text = format!(
            "{}:{}/{}",
            Atom(self.module.atom(import.module)),
            Atom(self.module.atom(import.name)),
            import.arity
        );
        self.with(text)
    }

    fn lambda(&mut self, index: LambdaIndex) -> &mut Self {
        let lambda = self.module.lambdas[index.0 as usize];
        let text = format!("{}/{}", Atom(self.module.atom(lambda.name)), lambda.arity);
        self.with(text)
    }

    /// A function of this module, by its entry.
    fn local(&mut self, target: Label, arity: u8) -> &mut Self {
        let place = self.module.labels[target.0 as usize];
        let after = self.module.functions.partition_point(|function| function.start <= place);
        match after.checked_sub(1).map(|index| self.module.functions[index]) {
            Some(function) => {
                let name = self.module.atom(function.name);
                let text = format!("{}/{}", Atom(name), function.arity);
                self.with(text)
            }
            None => self.with(format_args!("L{}/{arity}", target.0)),
        }
    }

    /// A place in the source.
    fn place(&mut self, index: u32) -> &mut Self {
        let lines = &self.module.lines;
        let entry = lines.entries.get(index as usize).filter(|_| index != 0);
        match entry.and_then(|&(file, line)| Some((lines.files.get(file as usize)?, line))) {
            Some((file, line)) => {
                let text = format!("{file}:{line}");
                self.with(text)
            }
            None => self.with("unknown"),
        }
    }
}
