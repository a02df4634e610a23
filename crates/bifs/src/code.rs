//! Loaded code: what there is, loading, purging.

use atoll_code::{has_old_code, module};
use atoll_process::{BuiltIn, Own, inspect};
use atoll_term::Term;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[];

/// Whether a process would go on in, or return to, the old code of a module. The caller runs the process.
pub fn runs_old_code(own: &Own, name: Term) -> bool {
    if !has_old_code(name) {
        return false;
    }
    let Some(old) = module(name).and_then(|module| module.old) else { return false };
    if old.contains(own.address) {
        return true;
    }
    let mut found = false;
    inspect::each_return_address(own, &mut |address| {
        // A return address may stand right behind the last word of the code.
        found = old.contains(address.wrapping_sub(1));
        !found
    });
    found
}
