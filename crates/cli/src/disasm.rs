//! `atoll disasm`

use std::io::Write;
use std::path::Path;

/// Prints a file's instructions.
pub fn disasm(file: &Path) -> Result<i32, String> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|error| format!("{name}: {error}"))?;
    let module = atoll_loader::load(&bytes).map_err(|error| format!("{name}: {error}"))?;
    let mut text = String::new();
    atoll_loader::disassemble(&module, &mut text).map_err(|error| format!("{name}: {error}"))?;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // A reader that has seen enough, as `head`, is no error.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(0),
    }
}
