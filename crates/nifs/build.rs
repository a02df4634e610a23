//! Compiles the functions that take a variable number of arguments: stable Rust cannot define these.

fn main() {
    println!("cargo::rerun-if-changed=src/variadic.c");
    println!("cargo::rerun-if-changed=src/drivers/wrappers.c");
    cc::Build::new().file("src/variadic.c").std("c11").warnings(true).compile("atoll_variadic");
    cc::Build::new().file("src/drivers/wrappers.c").std("gnu11").warnings(true).compile("atoll_driver_wrappers");
}
