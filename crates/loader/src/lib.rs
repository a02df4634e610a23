//! Reads `.beam` files into validated code in one typed instruction form.
//!
//! [`load`] takes the bytes of a file as a compiler of OTP 24 to 29 wrote it, compressed as a whole
//! or not, and gives a [`Module`], or says why not. What it gives can be trusted by those who run
//! it: every index is in range, every label has a place, and code stays within its function, its
//! stack frame and the registers that hold terms (see [`Module`]). Types of terms are not checked: an instruction that wants a
//! tuple may meet another term.

#![forbid(unsafe_code)]

mod access;
mod catches;
mod compact;
mod container;
mod cursor;
mod decode;
mod digest;
mod disassemble;
mod error;
mod frames;
pub mod instruction;
mod layout;
mod module;
mod opcodes;
mod registers;
mod tables;

pub use disassemble::disassemble;
pub use error::LoadError;
pub use instruction::*;
pub use module::{Export, Function, Import, Lambda, LineTable, Module};

use container::Chunks;
use decode::{Header, Tables};
use error::Result;
use layout::Layout;

/// Reads and checks a `.beam` file.
///
/// # Errors
///
/// The file is damaged, uses an instruction that OTP 25 and later do not know or no longer know,
/// or breaks one of the rules that [`Module`] promises.
pub fn load(bytes: &[u8]) -> std::result::Result<Module, LoadError> {
    let file = container::unpack(bytes)?;
    let chunks = Chunks::read(&file)?;
    let missing = |name| LoadError::new("file", 0, format!("no chunk {name}"));

    let atoms = match (chunks.atoms, chunks.latin1_atoms) {
        (Some(data), _) => tables::atoms(data)?,
        (None, Some(data)) => tables::latin1_atoms(data)?,
        (None, None) => return Err(missing("AtU8")),
    };
    let Some(name) = atoms.first() else {
        return Err(LoadError::new("AtU8", 0, "no atom names the module"));
    };
    let imports = tables::imports(chunks.imports.ok_or_else(|| missing("ImpT"))?, atoms.len())?;
    let exports = tables::exports(chunks.exports.ok_or_else(|| missing("ExpT"))?, atoms.len())?;
    let lambdas = optional(chunks.lambdas, |data| tables::lambdas(data, atoms.len()))?;
    let literals = optional(chunks.literals, tables::literals)?;
    let lines = optional(chunks.lines, |data| tables::lines(data, name))?;
    let strings = chunks.strings.ok_or_else(|| missing("StrT"))?;

    let code = chunks.code.ok_or_else(|| missing("Code"))?;
    let header = Header::read(code)?;
    let tables = Tables {
        atoms: &atoms,
        imports: &imports,
        lambdas: &lambdas,
        strings: strings.len(),
        lines: lines.entries.len(),
        labels: header.labels,
    };
    let decoded = decode::decode(code, &header, &tables, literals)?;
    let layout = Layout::find(&decoded, &header)?;
    layout.check_exports(&exports, &decoded.labels)?;
    layout.check_lambdas(&lambdas, &decoded.labels)?;
    frames::check(&decoded, &layout, &atoms, &imports)?;

    Ok(Module {
        code: decoded.code,
        labels: decoded.labels,
        functions: layout.functions,
        imports,
        exports,
        lambdas,
        literals: decoded.literals,
        strings: strings.into(),
        lines,
        attributes: chunks.attributes.map(Into::into),
        compile_info: chunks.compile_info.map(Into::into),
        on_load: layout.on_load,
        md5: digest::digest(&chunks),
        max_x: decoded.max_x,
        max_float: decoded.max_float,
        atoms,
    })
}

/// Reads a table that may be missing.
fn optional<T: Default>(data: Option<&[u8]>, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    data.map(read).transpose().map(Option::unwrap_or_default)
}
