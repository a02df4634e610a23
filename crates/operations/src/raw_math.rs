//! Functions of the system's mathematical library that the standard library does not have, or computes in its own
//! way: results must be those of the library that stock Erlang calls.
#![allow(unsafe_code)]

// SAFETY: these are functions of ISO C with these signatures, defined for every argument.
#[link(name = "m")]
unsafe extern "C" {
    pub(crate) safe fn acosh(x: f64) -> f64;
    pub(crate) safe fn asinh(x: f64) -> f64;
    pub(crate) safe fn atanh(x: f64) -> f64;
    pub(crate) safe fn erf(x: f64) -> f64;
    pub(crate) safe fn erfc(x: f64) -> f64;
}
