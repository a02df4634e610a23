//! Names of generated code for tools outside of the machine.

use std::ptr::NonNull;

use atoll_platform::debugger::KnownCode;
use object::Endianness;
use object::elf;
use object::write::elf::{FileHeader, SectionHeader, Sym, Writer};

use crate::perf_map::PerfMap;

/// Who is told of generated code.
#[derive(Default)]
pub struct Names {
    /// `perf`
    pub perf: Option<PerfMap>,
    /// Debuggers that are attached, now or later.
    pub debuggers: bool,
}

impl Names {
    /// Tells of a function of so many bytes. What is given is kept as long as the code.
    pub(crate) fn add(&self, start: NonNull<u8>, size: usize, name: &str) -> Option<KnownCode> {
        if let Some(map) = &self.perf {
            map.add(start, size, name);
        }
        if !self.debuggers {
            return None;
        }
        let file = object_file(start.addr().get() as u64, size as u64, name).ok()?;
        Some(KnownCode::new(file.into_boxed_slice()))
    }
}

/// An object file without contents, which says where a function is.
fn object_file(start: u64, size: u64, name: &str) -> object::write::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = Writer::new(Endianness::Little, true, &mut bytes);
    file.reserve_file_header();
    let text_name = file.add_section_name(b".text");
    let text = file.reserve_section_index();
    file.reserve_symtab_section_index();
    file.reserve_strtab_section_index();
    file.reserve_shstrtab_section_index();
    let name = file.add_string(name.as_bytes());
    file.reserve_symbol_index(Some(text));
    file.reserve_symtab();
    file.reserve_strtab();
    file.reserve_shstrtab();
    file.reserve_section_headers();

    file.write_file_header(&FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_REL,
        e_machine: elf::EM_X86_64,
        e_entry: 0,
        e_flags: 0,
    })?;
    file.write_null_symbol();
    file.write_symbol(&Sym {
        name: Some(name),
        section: Some(text),
        st_info: (elf::STB_GLOBAL << 4) | elf::STT_FUNC,
        st_other: elf::STV_DEFAULT,
        st_shndx: 0,
        st_value: 0,
        st_size: size,
    });
    file.write_strtab();
    file.write_shstrtab();
    file.write_null_section_header();
    file.write_section_header(&SectionHeader {
        name: Some(text_name),
        sh_type: elf::SHT_NOBITS,
        sh_flags: u64::from(elf::SHF_ALLOC | elf::SHF_EXECINSTR),
        sh_addr: start,
        sh_offset: 0,
        sh_size: size,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 1,
        sh_entsize: 0,
    });
    file.write_symtab_section_header(1);
    file.write_strtab_section_header();
    file.write_shstrtab_section_header();
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use object::read::elf::ElfFile64;
    use object::{Object, ObjectSection, ObjectSymbol};

    use super::*;

    #[test]
    fn an_object_file_says_where_a_function_is() {
        let bytes = object_file(0x7f12_3456_7000, 0x123, "lists:reverse/1").unwrap();
        let file: ElfFile64 = ElfFile64::parse(&*bytes).unwrap();
        let text = file.section_by_name(".text").unwrap();
        assert_eq!((text.address(), text.size()), (0x7f12_3456_7000, 0x123));
        let symbols: Vec<_> = file.symbols().collect();
        let [symbol] = &*symbols else { panic!("{symbols:?}") };
        assert_eq!((symbol.name(), symbol.size()), (Ok("lists:reverse/1"), 0x123));
        assert_eq!(symbol.section_index(), Some(text.index()));
    }
}
