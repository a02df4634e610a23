//! Finding the functions in the code, and checking what points at them.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::decode::{Decoded, Header, is_mark};
use crate::error::{LoadError, Result};
use crate::instruction::{Instruction, Label};
use crate::module::{Export, Function, Lambda, Module};

/// Functions in code order, and what was learnt on the way.
pub(crate) struct Layout {
    pub(crate) functions: Vec<Function>,
    pub(crate) on_load: Option<Label>,
}

impl Layout {
    /// Divides the code into functions. Each starts with labels and lines, then `func_info`, then
    /// the label of its entry.
    pub(crate) fn find(decoded: &Decoded, header: &Header) -> Result<Layout> {
        let code = &decoded.code;
        let mut functions: Vec<Function> = Vec::new();
        // No function starts before this index.
        let mut free = 0;
        for (index, instruction) in code.iter().enumerate() {
            let Instruction::FuncInfo { name, arity, .. } = *instruction else {
                continue;
            };
            let mut start = index;
            while start > free && is_mark(&code[start - 1]) {
                start -= 1;
            }
            let Some(&Instruction::Label(entry)) = code.get(index + 1) else {
                return Err(error(decoded, index, "no label follows func_info"));
            };
            match functions.last_mut() {
                Some(previous) => previous.end = start as u32,
                None if start == 0 => {}
                None => return Err(error(decoded, 0, "code in front of the first function")),
            }
            let end = code.len() as u32;
            functions.push(Function { name, arity, entry, start: start as u32, end });
            free = index + 2;
        }
        if functions.is_empty() && !code.is_empty() {
            return Err(error(decoded, 0, "code without a function"));
        }
        if functions.len() != header.functions as usize {
            return Err(LoadError::new(
                "Code",
                0,
                format!("{} functions are announced, {} found", header.functions, functions.len()),
            ));
        }
        let on_load = find_on_load(decoded, &functions)?;
        Ok(Layout { functions, on_load })
    }

    /// The index of the function whose entry is at this label.
    pub(crate) fn entry(&self, labels: &[u32], label: Label) -> Option<usize> {
        let place = *labels.get(label.0 as usize)?;
        if place == Module::NO_PLACE {
            return None;
        }
        let after = self.functions.partition_point(|function| function.start <= place);
        let index = after.checked_sub(1)?;
        (self.functions[index].entry == label).then_some(index)
    }

    /// Checks that exports are functions of that name and arity.
    pub(crate) fn check_exports(&self, exports: &[Export], labels: &[u32]) -> Result<()> {
        for (index, export) in exports.iter().enumerate() {
            let function = self.entry(labels, export.label).map(|index| &self.functions[index]);
            if function.is_none_or(|f| f.name != export.name || f.arity != export.arity) {
                return Err(LoadError::new(
                    "ExpT",
                    4 + 12 * index,
                    format!("label {} is not the entry of that function", export.label.0),
                ));
            }
        }
        Ok(())
    }

    /// Checks that the bodies of funs are functions of that arity, and that no two funs have the same number: machines
    /// know them by their numbers.
    pub(crate) fn check_lambdas(&self, lambdas: &[Lambda], labels: &[u32]) -> Result<()> {
        let mut known = HashSet::new();
        for (index, lambda) in lambdas.iter().enumerate() {
            if !known.insert((lambda.index, lambda.old_unique)) {
                return Err(LoadError::new("FunT", 4 + 24 * index, format!("a second fun number {}", lambda.index)));
            }
            let function = self.entry(labels, lambda.label).map(|index| &self.functions[index]);
            if function.is_none_or(|f| f.arity != lambda.arity) {
                return Err(LoadError::new(
                    "FunT",
                    4 + 24 * index,
                    format!("label {} is not the entry of a function of {} arguments", lambda.label.0, lambda.arity),
                ));
            }
        }
        Ok(())
    }
}

fn find_on_load(decoded: &Decoded, functions: &[Function]) -> Result<Option<Label>> {
    let mut found = None;
    for (index, instruction) in decoded.code.iter().enumerate() {
        if !matches!(instruction, Instruction::OnLoad) {
            continue;
        }
        let after = functions.partition_point(|function| function.start as usize <= index);
        let function = &functions[after - 1];
        if found.replace(function.entry).is_some() {
            return Err(error(decoded, index, "a second on_load"));
        }
        if function.arity != 0 {
            return Err(error(decoded, index, "on_load in a function with arguments"));
        }
    }
    Ok(found)
}

/// An error at an instruction.
pub(crate) fn error(decoded: &Decoded, index: usize, problem: impl Into<Cow<'static, str>>) -> LoadError {
    LoadError::new("Code", decoded.offsets.get(index).map_or(0, |&at| at as usize), problem)
}
