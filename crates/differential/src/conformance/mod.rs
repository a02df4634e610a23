//! OTP's own test suites, with OTP's Common Test, on stock `erl` and on Atoll.
//!
//! * `suite`: which suites there are, and what is compiled for them;
//! * `machine`: what runs a suite;
//! * `results`: what became of each case;
//! * `report`: several machines side by side, and the list of cases that may not fail again.

mod machine;
mod report;
mod results;
mod suite;

pub use machine::Machine;
pub use report::{Comparison, Passing};
pub use results::{Outcome, Results};
pub use suite::{Prepared, Suite, Workplace, suites};
