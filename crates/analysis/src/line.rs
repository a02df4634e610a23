//! The source line of an instruction.

use atoll_loader::{Instruction, Module};

/// File and line that an instruction belongs to, if the module knows. Compilers name the lines of calls and of what may
/// raise; for an instruction in front of one of those, as building its arguments is, that line is meant, for others the
/// last line named before.
pub fn line_of(module: &Module, index: u32) -> Option<(&str, u32)> {
    let function = module.functions.iter().find(|function| function.start <= index && index < function.end)?;
    let code = &module.code;
    let named = |line: u32| {
        let (file, line) = *module.lines.entries.get(line as usize).filter(|entry| entry.1 != 0)?;
        Some((&*module.lines.files[file as usize], line))
    };
    let ends = |instruction: &Instruction| {
        instruction.ends_block()
            || matches!(instruction, Instruction::Label(_) | Instruction::Call { .. } | Instruction::CallExt { .. })
            || matches!(instruction, Instruction::Send | Instruction::CallFun { .. } | Instruction::CallFun2 { .. })
    };
    let behind = code[index as usize..function.end as usize].iter();
    let next = behind.take_while(|instruction| !ends(instruction)).find_map(|instruction| match instruction {
        Instruction::Line(line) => named(*line),
        _ => None,
    });
    next.or_else(|| {
        code[function.start as usize..index as usize].iter().rev().find_map(|instruction| match instruction {
            Instruction::Line(line) => named(*line),
            _ => None,
        })
    })
}
