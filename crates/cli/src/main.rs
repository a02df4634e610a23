//! The `atoll` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use atoll_platform::allocator::OrEnd;
use clap::Parser;

mod analyse;
mod arguments;
mod bench;
mod compare;
mod disasm;
mod doctor;
mod erl;
mod erlc;
mod escript;
mod native;
mod run;
mod simulate;
mod suites;

#[cfg(not(system_allocator))]
#[global_allocator]
static ALLOCATOR: OrEnd<mimalloc::MiMalloc> = OrEnd(mimalloc::MiMalloc);
/// For ThreadSanitizer, which does not see that another allocator gives one thread what another has freed.
#[cfg(system_allocator)]
#[global_allocator]
static ALLOCATOR: OrEnd<std::alloc::System> = OrEnd(std::alloc::System);

fn main() -> ExitCode {
    atoll_platform::addresses::save();
    // These take OTP's options, which are not to be split as ours are, and need not be Unicode.
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    if first.as_deref().is_some_and(erl::is_command_line) {
        return end_as_erl(erl::erl(first.into_iter().chain(words).collect()));
    }
    match first.as_deref().and_then(|word| word.to_str()) {
        Some("erl") => return end_as_erl(erl::erl(words.collect())),
        Some("erlc") => return end(erlc::erlc(words.collect())),
        Some("escript") => return end(escript::escript(words.collect())),
        _ => {}
    }
    let command = match arguments::split(std::env::args()) {
        Ok(words) => arguments::Cli::parse_from(words).command,
        Err(error) => return fail(&error),
    };
    let result = match command {
        arguments::Command::Run(options) => run::run(&options),
        arguments::Command::Simulate(options) => simulate::simulate(&options),
        arguments::Command::Compare(options) => compare::compare(&options),
        arguments::Command::Bench { evaluation } => bench::bench(&evaluation),
        arguments::Command::Doctor { otp, list } => doctor::doctor(otp.as_deref(), list),
        arguments::Command::Erl(options) => return end_as_erl(erl::erl(options.words)),
        arguments::Command::Erlc(options) => erlc::erlc(options.words),
        arguments::Command::Escript(options) => escript::escript(options.words),
        arguments::Command::Analyse { sites, json, otp, subject } => {
            analyse::analyse(&subject, otp.as_deref(), sites, json.as_deref())
        }
        arguments::Command::Disasm { heap, file, function: Some(function), .. } => {
            disasm::native(&heap, &file, &function)
        }
        arguments::Command::Disasm { file, .. } => disasm::disasm(&file),
    };
    end(result)
}

fn end(result: Result<i32, String>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from((status & 0xff) as u8),
        Err(error) => fail(&error),
    }
}

/// As [`end`], in the place of `erl`: programs that start it know its messages, in front of which no name stands.
fn end_as_erl(result: Result<i32, String>) -> ExitCode {
    end(result.or_else(|error| {
        eprintln!("{error}");
        Ok(1)
    }))
}

fn fail(error: &str) -> ExitCode {
    eprintln!("atoll: {error}");
    ExitCode::FAILURE
}
