//! The `atoll` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;

mod arguments;
mod bench;
mod compare;
mod disasm;
mod erl;
mod run;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // These take OTP's options, which are not ours to read.
    let mut words = std::env::args_os().skip(1);
    if let Some("erl") = words.next().as_deref().and_then(|word| word.to_str()) {
        return end(erl::erl(words));
    }
    let command = match arguments::split(std::env::args()) {
        Ok(words) => arguments::Cli::parse_from(words).command,
        Err(error) => return fail(&error),
    };
    let result = match command {
        arguments::Command::Run(options) => run::run(&options),
        arguments::Command::Compare(options) => compare::compare(&options),
        arguments::Command::Bench { evaluation } => bench::bench(&evaluation),
        arguments::Command::Disasm { file } => disasm::disasm(&file),
    };
    end(result)
}

fn end(result: Result<i32, String>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from((status & 0xff) as u8),
        Err(error) => fail(&error),
    }
}

fn fail(error: &str) -> ExitCode {
    eprintln!("atoll: {error}");
    ExitCode::FAILURE
}
