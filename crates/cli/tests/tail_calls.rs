//! Handlers jump to the next one: docs/decisions/dispatch-by-tail-calls.md. Nothing but the compiler's mood makes a
//! call a jump, so this looks at what it made.

use std::process::Command;

/// Tracing and exceptions are slow anyway, and what piles up is gone at the end of the time slice. The others keep the
/// call only where assertions of what they use are compiled in, as they are for tests: in release builds they jump.
/// `trace_hooks::raised` is no handler: it ends with a call of a function that the machine installs.
const EXEMPT: [&str; 6] =
    ["10breakpoint", "9catch_end", "7receive7timeout", "7put_map", "_failed", "11trace_hooks6raised"];

/// An indirect call of an address that was read from memory, as a handler of the next instruction is.
fn calls_indirectly(instruction: &str) -> bool {
    let Some(target) = instruction.strip_prefix("call").map(str::trim) else { return false };
    target.starts_with("*%r") || target.starts_with('*') && target.contains("(%r") && !target.contains("(%rip)")
}

/// Whether a function of this name belongs to the code of an engine, or to what engines share. The disassembler has
/// handlers of its own.
fn is_handler(name: &str) -> bool {
    name.contains("handlers") && !name.contains("iced_x86") || name.contains("atoll_runtime")
}

/// What undoes a frame.
fn leaves_a_frame(instruction: &str) -> bool {
    instruction.starts_with("pop") || (instruction.starts_with("add") && instruction.ends_with(",%rsp"))
}

/// Functions that return what an indirect call gave them, and do nothing but that behind it: it should have been a
/// jump.
fn kept_calls(listing: &str) -> (Vec<&str>, usize) {
    let (mut name, mut seen, mut kept) = ("", 0, Vec::new());
    let mut lines = listing.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some((_, label)) = line.strip_suffix(">:").and_then(|line| line.split_once('<')) {
            name = label;
            seen += usize::from(is_handler(label));
        }
        let instruction =
            |line: &str| line.split_once('\t').map(|(_, text)| text.trim().to_owned()).unwrap_or_default();
        let is_checked = is_handler(name) && !EXEMPT.iter().any(|exempt| name.contains(exempt));
        if is_checked && calls_indirectly(&instruction(line)) {
            while lines.next_if(|line| leaves_a_frame(&instruction(line))).is_some() {}
            if lines.peek().is_some_and(|line| instruction(line).starts_with("ret")) {
                kept.push(name);
            }
        }
    }
    (kept, seen)
}

#[test]
fn no_handler_calls_the_next_one() {
    let listing = "0 <good_handlers_a>:\n 1:\tpop    %rbx\n 2:\tjmp    *%rax\n\n5 <bad_handlers_b>:\n 6:\tcall   *0x20(%r14)\n 7:\tadd    $0x18,%rsp\n 8:\tpop    %rbx\n 9:\tret\n";
    assert_eq!(kept_calls(listing), (vec!["bad_handlers_b"], 2));

    let executable = env!("CARGO_BIN_EXE_atoll");
    let output = Command::new("objdump").args(["--disassemble", "--no-show-raw-insn", executable]).output();
    let output = output.expect("objdump, which comes with the linker");
    assert!(output.status.success());
    let listing = String::from_utf8_lossy(&output.stdout);
    let (kept, seen) = kept_calls(&listing);
    assert!(seen > 500, "{seen} handlers");
    assert_eq!(kept, Vec::<&str>::new());
}
