//! Words that differ from run to run: addresses, and terms with addresses inside. The intermediate code has a symbol in
//! the place of each, so it is the same in each run, and machine code of an earlier run fits ([`crate::kept`]).

use std::collections::HashMap;

use atoll_term::Word;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::immediates::Imm64;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{ExternalName, GlobalValue, GlobalValueData, InstBuilder, UserExternalName, Value};

use super::Emitter;

/// The namespace of symbols that stand for words; other symbols are regions.
pub const WORDS: u32 = 1;

/// The words of a region's code, in the order of their symbols' numbers.
#[derive(Default)]
pub struct Varying {
    pub words: Vec<Word>,
    symbols: HashMap<Word, GlobalValue>,
}

impl Emitter<'_, '_> {
    /// A word that differs from run to run.
    pub(super) fn varying(&mut self, word: Word) -> Value {
        let symbol = match self.varying.symbols.get(&word) {
            Some(symbol) => *symbol,
            None => {
                let name = UserExternalName { namespace: WORDS, index: self.varying.words.len() as u32 };
                let name = ExternalName::user(self.b.func.declare_imported_user_function(name));
                let offset = Imm64::new(0);
                let symbol = GlobalValueData::Symbol { name, offset, colocated: false, tls: false };
                let symbol = self.b.create_global_value(symbol);
                self.varying.words.push(word);
                self.varying.symbols.insert(word, symbol);
                symbol
            }
        };
        self.b.ins().symbol_value(I64, symbol)
    }

    /// Whether a value is a word that differs from run to run.
    pub(super) fn equals_varying(&mut self, value: Value, word: Word) -> Value {
        let word = self.varying(word);
        self.b.ins().icmp(IntCC::Equal, value, word)
    }
}
