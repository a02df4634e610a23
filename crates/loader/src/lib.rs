//! Reads `.beam` files into validated code in one typed instruction form.
#![forbid(unsafe_code)]

pub mod instruction;
