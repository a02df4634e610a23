//! `atoll disasm`

use std::io::Write;
use std::path::Path;

use atoll_vm::Options;

/// Prints a file's instructions.
pub fn disasm(file: &Path) -> Result<i32, String> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|error| format!("{name}: {error}"))?;
    let module = atoll_loader::load(&bytes).map_err(|error| format!("{name}: {error}"))?;
    let mut text = String::new();
    atoll_loader::disassemble(&module, &mut text).map_err(|error| format!("{name}: {error}"))?;
    print(&text)
}

/// Prints the machine code of a function: `NAME`, of any arity, or `NAME/ARITY`.
pub fn native(heap: &str, file: &Path, function: &str) -> Result<i32, String> {
    let (name, arity) = match function.rsplit_once('/').map(|(name, arity)| (name, arity.parse::<u8>())) {
        Some((name, Ok(arity))) if !name.is_empty() => (name, Some(arity)),
        _ => (function, None),
    };
    let options =
        Options { heap: heap.to_owned(), native: Some(atoll_vm::Native::On), schedulers: 1, ..Options::default() };
    print(&atoll_vm::list_native(&options, file, name, arity).map_err(|error| error.to_string())?)
}

/// Prints to standard output.
pub fn print(text: &str) -> Result<i32, String> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // A reader that has seen enough, as `head`, is no error.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(0),
    }
}
