//! Native libraries: what `erlang:load_nif/2` loads, and the functions with the prefix `enif_` that libraries call. The
//! machine's executable shows these under their C names, so libraries that were compiled against OTP's headers find
//! them.
//!
//! Each function declares the types that the header gives it, with references in the place of pointers that must not be
//! null: a library that keeps to the header gives valid ones. A library that does not can break the machine, as it can
//! break OTP's.
//!
//! * [`env`]: environments, and what holds their terms still (invariant N1)
//! * `load`, [`library`]: loading, and the end of a library
//! * [`call`], [`dirty`]: calls, in a time slice and on threads of their own
//! * `build_terms`, `read_terms`, `binaries`, `maps`, `vectors`: terms
//! * [`resources`], [`resource_types`], `monitors`, `select`, [`callbacks`], `search`: resources, and what
//!   is told to them
//! * `machine`: what the rest of the machine asks; `halt`: what libraries want of its end
//! * `crash`: what is said of a library that crashes; [`check`]: `--check-natives`
//! * [`drivers`]: linked-in drivers
//! * [`tracers`]: modules that get trace messages
//! * `messages`, `threads`, `time`, `system`: the rest
#![allow(missing_docs, reason = "the functions are the C interface's; OTP documents them")]

use std::ffi::c_int;
use std::sync::OnceLock;

use atoll_process::BuiltIn;

mod abi;
mod binaries;
mod build_terms;
mod call;
mod callbacks;
mod check;
mod copy;
mod crash;
mod dirty;
mod drivers;
mod env;
mod halt;
mod library;
mod load;
mod machine;
mod maps;
mod messages;
mod monitors;
mod read_terms;
mod resource_types;
mod resources;
mod search;
mod select;
mod system;
mod threads;
mod time;
mod tracers;
mod vectors;

pub use check::check_terms;
pub use crash::install_for_code as tell_of_crashes_in_code;
pub use drivers::load as load_driver;
pub use machine::before_end;

/// Minor version of the interface that libraries may ask for: that of OTP 25.
const MINOR: c_int = 16;

/// The part of a machine that this crate has.
#[derive(Default)]
pub struct Part {
    loaded: machine::Loaded,
    types: resource_types::Types,
    queue: callbacks::Queue,
    search: search::Search,
    pools: dirty::Pools,
    watched: monitors::Watched,
    selected: select::All,
    selected_by_drivers: drivers::select::All,
    names: system::Names,
    tracers: tracers::Tracers,
}

atoll_platform::part_of_machine!(Part);

/// That of this thread's machine, which a library's own thread enters now.
fn here() -> &'static Part {
    env::enter_machine();
    part()
}

/// All functions here that programs call.
pub fn built_ins() -> &'static [BuiltIn] {
    static ALL: OnceLock<Vec<BuiltIn>> = OnceLock::new();
    ALL.get_or_init(|| [load::BUILT_INS, call::BUILT_INS].concat())
}

unsafe extern "C" {
    fn enif_make_tuple();
    fn enif_make_list();
    fn enif_set_option();
    fn enif_snprintf();
    fn enif_fprintf();
    fn enif_vsnprintf();
    fn enif_vfprintf();
    fn null_func();
}

/// Has the linker keep what is written in C: for native functions, and for drivers (`null_func`'s file).
#[used]
static IN_C: [unsafe extern "C" fn(); 8] = [
    enif_make_tuple,
    enif_make_list,
    enif_set_option,
    enif_snprintf,
    enif_fprintf,
    enif_vsnprintf,
    enif_vfprintf,
    null_func,
];
