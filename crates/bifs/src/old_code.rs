//! Which processes still run code that was replaced.

use atoll_code::module;
use atoll_process::{Own, inspect};
use atoll_term::Term;

/// Whether a process would go on in, or return to, the old code of a module. The caller runs the process.
pub fn runs_old_code(own: &Own, name: Term) -> bool {
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
