//! Which processes still run code that was replaced.

use atoll_code::module;
use atoll_process::{Own, inspect};
use atoll_term::Term;

/// Whether a process that is between two instructions would go on in, or return to, the old code of a module. The
/// caller runs the process.
pub fn runs_old_code(own: &Own, name: Term) -> bool {
    let goes_on = module(name).and_then(|module| module.old).is_some_and(|old| old.contains(own.address));
    goes_on || returns_to_old_code(own, name)
}

/// Whether a process would return to the old code of a module. Of one that asks for itself there is no more to know:
/// where its time slice began does not tell where it is.
pub fn returns_to_old_code(own: &Own, name: Term) -> bool {
    let Some(old) = module(name).and_then(|module| module.old) else { return false };
    let mut found = false;
    inspect::each_return_address(own, &mut |address| {
        // A return address may stand right behind the last word of the code.
        found = old.contains(address.wrapping_sub(1));
        !found
    });
    found
}
