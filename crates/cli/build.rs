//! Native libraries find the functions of `crates/nifs` in the executable by their C names.

fn main() {
    let patterns = ["enif_*", "driver_*", "erl_drv_*", "set_busy_port", "set_port_control_flags", "get_port_flags"];
    for pattern in patterns.into_iter().chain(["erl_errno_id", "null_func", "add_driver_entry", "remove_driver_entry"])
    {
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={pattern}");
    }
}
