//! All files of the OTP and Elixir on this machine, compared with what OTP's own tools say.

mod support;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use atoll_loader::{Instruction, Module, Segment, SegmentType, SegmentValue, disassemble, load};
use support::{Random, installed, walk};

#[test]
fn every_file_loads() {
    let files = installed();
    if files.is_empty() {
        println!("skipped: no OTP is installed");
        return;
    }
    let mut random = Random::new(1);
    let (mut instructions, mut guards) = (0, 0);
    for path in &files {
        let bytes = std::fs::read(path).expect("readable");
        let module = load(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().expect("a name").to_string_lossy();
        assert_eq!(module.name(), name, "{}", path.display());
        check_lines(path, &module);
        instructions += module.code.len();
        guards += module.guards.len();
        for _ in 0..20 {
            walk::walk(&module, &mut random);
        }

        let mut text = String::new();
        disassemble(&module, &mut text).expect("memory");
        for line in text.lines().map(str::trim) {
            assert!(line != "?" && !line.starts_with("? "), "{}: {line}", path.display());
        }
    }
    println!("{} files, {instructions} instructions, {guards} of them tests that the loader put there", files.len());
    // What compilers write is proven, all but a few: more would cost time when it runs.
    assert!(guards * 200 < instructions, "{guards} of {instructions} instructions are tests that the loader put there");
}

/// Every file of the line table but the first is used by some line.
fn check_lines(path: &Path, module: &Module) {
    let lines = &module.lines;
    for file in 1..lines.files.len() {
        assert!(
            lines.entries.iter().any(|&(used, _)| used as usize == file),
            "{}: no line of {}",
            path.display(),
            lines.files[file]
        );
    }
}

/// What OTP's tools say of a file.
#[derive(Debug, PartialEq, Eq)]
struct Facts {
    digest: String,
    functions: usize,
    exports: usize,
    /// Instructions as the file has them, without the end mark but with one more for each frame that is initialised as
    /// a whole, and for each fun that an older compiler left the room to the machine for.
    instructions: usize,
}

fn facts(module: &Module) -> Facts {
    let mut digest = String::new();
    for byte in module.md5 {
        write!(digest, "{byte:02x}").expect("memory");
    }
    Facts {
        digest,
        functions: module.functions.len(),
        exports: module.exports.len(),
        instructions: (0..module.code.len()).filter(|&index| !is_guard(&module.code, index)).count()
            + module.code.iter().map(pieces).sum::<usize>()
            - module.guards.len(),
    }
}

/// Whether this instruction is none of the file's: the loader puts it in front of a handler that
/// code would run into.
fn is_guard(code: &[Instruction], index: usize) -> bool {
    let mark = |code: &&Instruction| matches!(code, Instruction::Label(_) | Instruction::Line(_));
    matches!(code[index], Instruction::Unsupported { opcode: 106 })
        && matches!(code[index + 1..].iter().find(|code| !mark(code)), Some(Instruction::TryCase { .. }))
}

/// Asks `erl` to apply a fun to each file. None without `erl`. `purpose` tells the temporary files of
/// tests apart.
fn erl(purpose: &str, expression: &str, files: &[PathBuf]) -> Option<Vec<String>> {
    let list = std::env::temp_dir().join(format!("atoll-loader-{purpose}-{}.txt", std::process::id()));
    let names: String = files.iter().map(|path| format!("{}\n", path.display())).collect();
    std::fs::write(&list, names).expect("a temporary file");
    let program = format!(
        "{{ok, B}} = file:read_file(\"{}\"), \
         Each = {expression}, \
         [io:format(\"~ts~n\", [Each(binary_to_list(F))]) \
          || F <- binary:split(B, <<\"\\n\">>, [global, trim])], halt().",
        list.display()
    );
    let output = Command::new("erl").args(["-noshell", "-eval", &program]).output();
    std::fs::remove_file(&list).expect("the temporary file");
    let output = output.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(str::to_owned).collect())
}

/// Files that the installed `erl` knows: not those that `ATOLL_TEST_BEAMS` adds.
fn stock() -> Vec<PathBuf> {
    let mut files = installed();
    files.retain(|path| path.starts_with("/usr/lib"));
    files
}

fn is_of_old(segments: &[Segment]) -> bool {
    segments.iter().all(|segment| segment.number == 0)
        && segments.iter().any(|segment| matches!(segment.value, SegmentValue::Term(_)))
}

/// How many instructions of the file an instruction stands for, besides one: an old compiler writes one for the
/// beginning of a bitstring and one for each segment, without numbers. Constants have none in new code either.
fn pieces(instruction: &Instruction) -> usize {
    match instruction {
        Instruction::BsCreateBin { segments, .. } if is_of_old(segments) => {
            let begins = matches!(segments[0].kind, SegmentType::Append | SegmentType::PrivateAppend);
            segments.len() - usize::from(begins)
        }
        _ => 0,
    }
}

#[test]
fn digests_are_those_of_beam_lib() {
    let files = stock();
    let digest = "fun(F) -> {ok, {_, M}} = beam_lib:md5(F), binary:encode_hex(M) end";
    let Some(answers) = erl("digests", digest, &files) else {
        println!("skipped: no erl");
        return;
    };
    assert_eq!(answers.len(), files.len());
    for (path, answer) in files.iter().zip(&answers) {
        let module = load(&std::fs::read(path).expect("readable")).expect("a good file");
        assert_eq!(facts(&module).digest, answer.to_lowercase(), "{}", path.display());
    }
}

#[test]
fn counts_are_those_of_beam_disasm() {
    let files = stock();
    // Old compilers check for errors of arithmetic apart, which the loader leaves out.
    let counts = "fun(F) -> \
        {beam_file, _, Exports, _, _, Code} = beam_disasm:file(F), \
        Two = fun(I) -> is_tuple(I) andalso \
                        lists:member(element(1, I), [allocate_zero, allocate_heap_zero, make_fun2]) end, \
        Weight = fun(fclearerror) -> 0; ({fcheckerror, _}) -> 0; \
                    (I) -> case Two(I) of true -> 2; false -> 1 end end, \
        Sum = lists:sum([Weight(I) || {function, _, _, _, Is} <- Code, I <- Is]), \
        io_lib:format(\"~w ~w ~w\", [length(Code), length(Exports), Sum]) end";
    let Some(answers) = erl("counts", counts, &files) else {
        println!("skipped: no erl");
        return;
    };
    assert_eq!(answers.len(), files.len());
    let mut wrong = Vec::new();
    for (path, answer) in files.iter().zip(&answers) {
        let module = load(&std::fs::read(path).expect("readable")).expect("a good file");
        let facts = facts(&module);
        let ours = format!("{} {} {}", facts.functions, facts.exports, facts.instructions);
        if ours != *answer {
            wrong.push(format!("{}: {ours}, and not {answer}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The instructions of one module, by the name that the text gives them, against a count made from
/// the typed form: the text loses none.
#[test]
fn the_text_shows_every_instruction() {
    let files = stock();
    let Some(path) = files.iter().find(|path| path.ends_with("lists.beam")) else {
        println!("skipped: no OTP is installed");
        return;
    };
    let module = load(&std::fs::read(path).expect("readable")).expect("a good file");
    let mut text = String::new();
    disassemble(&module, &mut text).expect("memory");
    let mut names: HashMap<&str, usize> = HashMap::new();
    for line in text.lines().filter(|line| line.starts_with("    ")) {
        *names.entry(line.split_whitespace().next().unwrap_or("")).or_default() += 1;
    }
    let count =
        |matches: fn(&Instruction) -> bool| module.code.iter().filter(|instruction| matches(instruction)).count();
    assert_eq!(names["move"], count(|i| matches!(i, Instruction::Move { .. })));
    assert_eq!(names["call_last"], count(|i| matches!(i, Instruction::CallLast { .. })));
    assert_eq!(names["get_list"], count(|i| matches!(i, Instruction::GetList { .. })));
    let labels = count(|i| matches!(i, Instruction::Label(_)));
    assert_eq!(names.values().sum::<usize>(), module.code.len() - labels);
}
