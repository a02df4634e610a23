//! Reads `.beam` files into validated code in one typed instruction form.
//!
//! [`load`] takes the bytes of a file as a compiler of OTP 24 to 29 wrote it, compressed as a whole or not, and returns
//! a [`Module`] or an error. Engines can trust the module: every index is in range, every label has a place, and code
//! stays within its function, its stack frame, the heap room it asked for and the registers that hold terms (see
//! [`Module`]). An instruction that looks into a tuple meets a tuple of that size: code before it proves so, or a test
//! stands in front of it.

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]
#![forbid(unsafe_code)]

mod access;
mod check;
mod compact;
mod container;
mod cursor;
mod decode;
mod digest;
mod disassemble;
mod error;
pub mod instruction;
mod layout;
mod module;
mod opcodes;
mod tables;
mod taken;

pub use check::implied_reads;
pub use disassemble::{disassemble, instruction_text};
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
    load_among(bytes, |_, _, _| false)
}

/// As [`load`], for a machine that runs code of its own in the place of functions for which `is_built_in` is true of
/// module, name and arity: nothing is concluded from what stands in the file about their results.
///
/// # Errors
///
/// As for [`load`].
pub fn load_among(
    bytes: &[u8],
    is_built_in: impl Fn(&str, &str, u8) -> bool,
) -> std::result::Result<Module, LoadError> {
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
    let mut decoded = decode::decode(code, &header, &tables, literals)?;
    let mut layout = Layout::find(&decoded, &header)?;
    layout.check_exports(&exports, &decoded.labels)?;
    layout.check_lambdas(&lambdas, &decoded.labels)?;
    let entries = exports.iter().map(|export| export.label).chain(lambdas.iter().map(|lambda| lambda.label));
    let callable = entries.chain(layout.on_load).collect();
    let is_built_in = |function: AtomIndex, arity: u8| is_built_in(name, &atoms[function.0 as usize], arity);
    let outside = check::Outside { callable, is_built_in: &is_built_in };
    let unproven = check::check(&decoded, &layout, &atoms, &imports, &outside)?;
    let guards = check::insert(&mut decoded, &mut layout, unproven);
    taken::note(&mut decoded, &layout);
    let most = |count: fn(&decode::Extent) -> u16| decoded.extents.iter().map(count).max().unwrap_or(0);
    let (max_x, max_float) = (most(|extent| extent.x), most(|extent| extent.floats));

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
        max_x,
        max_float,
        guards,
        atoms,
    })
}

/// Reads a table that may be missing.
fn optional<T: Default>(data: Option<&[u8]>, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    data.map(read).transpose().map(Option::unwrap_or_default)
}
