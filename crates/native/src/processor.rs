//! The code generator's settings.

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};

/// The code generator for this machine's processor. `None`: it has none.
pub fn processor() -> Option<OwnedTargetIsa> {
    let mut flags = settings::builder();
    let switches = [
        ("opt_level", "speed"),
        ("enable_pinned_reg", "true"),
        ("preserve_frame_pointers", "true"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
        ("is_pic", "false"),
    ];
    for (name, value) in switches {
        flags.set(name, value).ok()?;
    }
    cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()
}
