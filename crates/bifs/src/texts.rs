//! Text as lists and binaries.

use atoll_operations::list;
use atoll_process::Caller;
use atoll_term::{Build, Term};

use crate::charging::charge_bytes;

/// Text of a list of characters or a binary.
pub fn text(term: Term) -> Option<String> {
    if let Some(bits) = term.bits() {
        return bits.is_binary().then(|| String::from_utf8_lossy(&bits.to_bytes()).into_owned());
    }
    list::elements(term)?.into_iter().map(|one| char::from_u32(u32::try_from(one.as_small()?).ok()?)).collect()
}

/// The bytes that a proper list of integers from 0 to 255 holds; `None` if there are more than `limit`.
pub fn byte_list(term: Term, limit: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = term;
    while rest.is_cons() && bytes.len() < limit {
        bytes.push(u8::try_from(rest.head().as_small()?).ok()?);
        rest = rest.tail();
    }
    rest.is_nil().then_some(bytes)
}

/// A list of ASCII text. The caller pays for its length.
pub fn text_list(caller: &mut Caller<'_>, text: &str) -> Term {
    charge_bytes(caller, text.len());
    caller.heap().string(text)
}
