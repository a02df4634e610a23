//! The `atoll` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;

mod arguments;
mod bench;
mod compare;
mod disasm;
mod doctor;
mod run;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = match arguments::split(std::env::args()) {
        Ok(words) => arguments::Cli::parse_from(words).command,
        Err(error) => return fail(&error),
    };
    let result = match command {
        arguments::Command::Run(options) => run::run(&options),
        arguments::Command::Compare(options) => compare::compare(&options),
        arguments::Command::Bench { evaluation } => bench::bench(&evaluation),
        arguments::Command::Doctor { otp, list } => doctor::doctor(otp.as_deref(), list),
        arguments::Command::Disasm { file } => disasm::disasm(&file),
    };
    match result {
        Ok(status) => ExitCode::from((status & 0xff) as u8),
        Err(error) => fail(&error),
    }
}

fn fail(error: &str) -> ExitCode {
    eprintln!("atoll: {error}");
    ExitCode::FAILURE
}
