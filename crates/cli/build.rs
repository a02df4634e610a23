//! Native libraries find the functions of `crates/nifs` in the executable by their C names.

fn main() {
    println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol=enif_*");
}
