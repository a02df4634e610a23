//! `re`: compiling and running regular expressions. What OTP's own `re` module does in Erlang (`global`, character
//! lists, `split`, `replace`) it does here as well: these functions go on there for it.

use std::cell::RefCell;
use std::rc::Rc;

use atoll_operations::{Exception, iolist};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_regex::{CompileError, MatchError, Regex};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, KnownText, Term, atoms};

use crate::charging::charge_bytes;
use crate::errors::badarg_because;
use crate::re_options::{Capture, Choice, Options, Shape};
use crate::re_pattern::{Key, compiled};
use crate::texts::text_list;
use atoll_process::release::release_number;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("re", "compile", 1, compile),
    BuiltIn::new("re", "compile", 2, compile_with_options),
    BuiltIn::new("re", "import", 1, import),
    BuiltIn::new("re", "run", 2, run),
    BuiltIn::new("re", "run", 3, run_with_options),
    BuiltIn::new("re", "internal_run", 4, internal_run),
    BuiltIn::new("re", "inspect", 2, inspect),
    BuiltIn::new("re", "version", 0, version),
];

static RE: LazyAtom = LazyAtom::new("re");
static EXPORT: LazyAtom = LazyAtom::new("export");
static EXPORTED_PATTERN: LazyAtom = LazyAtom::new("re_exported_pattern");
static PATTERN: LazyAtom = LazyAtom::new("re_pattern");
static MATCH: LazyAtom = LazyAtom::new("match");
static NO_MATCH: LazyAtom = LazyAtom::new("nomatch");
static COMPILE: LazyAtom = LazyAtom::new("compile");
static NAME_LIST: LazyAtom = LazyAtom::new("namelist");

/// The first release whose patterns can be exported.
const EXPORTS_SINCE: u32 = 28;

/// Goes on in OTP's `re`.
fn go_on(function: &str, arguments: Vec<Term>) -> Interrupt {
    let function = known_atom(function);
    Interrupt::Call(atoll_code::registry().export(RE.get(), function, arguments.len() as u8), arguments)
}

/// Options from a term.
fn options_of(caller: &mut Caller<'_>, term: Term) -> Result<Options, Interrupt> {
    Options::parse(term).ok_or_else(|| badarg_because(caller, atoms::ERL_STDLIB_ERRORS, atoms::BADOPT))
}

/// `{re_pattern, Groups, Unicode, UseCrlf, Bytes}`, where the bytes say how to compile the pattern again.
fn pattern_term(caller: &mut Caller<'_>, key: &Key, regex: &Regex) -> Term {
    let heap = caller.heap();
    let bytes = heap.binary(key.bytes());
    let number = |number: u32| Term::small(i64::from(number));
    let (unicode, crlf) = (number(u32::from(key.options().unicode)), number(u32::from(regex.has_crlf())));
    heap.tuple(&[PATTERN.get(), number(regex.groups()), unicode, crlf, bytes])
}

/// The pattern of such a term.
fn key_of(term: Term) -> Option<Key> {
    let &[tag, groups, unicode, crlf, bytes] = term.tuple_elements()? else { return None };
    let well_formed = tag == PATTERN.get() && groups.is_small() && unicode.is_small() && crlf.is_small();
    let bits = bytes.bits().filter(|bits| well_formed && bits.is_binary())?;
    Key::from_bytes(&bits.to_bytes())
}

fn error_term(caller: &mut Caller<'_>, error: &CompileError) -> Term {
    let text = text_list(caller, &error.message);
    caller.heap().tuple(&[text, Term::small(error.position as i64)])
}

/// A list of options without `export`, if that is among them.
fn without_export(caller: &mut Caller<'_>, options: Term) -> Option<Term> {
    let elements = atoll_operations::list::elements(options)?;
    if !elements.contains(&EXPORT.get()) {
        return None;
    }
    Some(caller.heap().list(elements.into_iter().filter(|option| *option != EXPORT.get())))
}

/// `compile/2` with `export`, since release 28: `{ok, {re_exported_pattern, Header, Pattern, Options, Code}}`. What is
/// exported is what it was compiled of; header and code say nothing to this machine.
fn export_pattern(caller: &mut Caller<'_>, pattern: Term, options: Term) -> Outcome {
    let compiled = compile_pattern(caller, pattern, options)?;
    if compiled.tuple_elements().is_none_or(|elements| elements.first() != Some(&atoms::OK)) {
        return Ok(compiled);
    }
    let heap = caller.heap();
    let nothing = heap.binary(&[]);
    let exported = heap.tuple(&[EXPORTED_PATTERN.get(), nothing, pattern, options, nothing]);
    Ok(heap.tuple(&[atoms::OK, exported]))
}

/// `import(Exported)`: compiles it for this machine, wherever it was exported.
fn import(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(&[tag, _, pattern, options, _]) = arguments[0].tuple_elements() else { return Err(badarg()) };
    if tag != EXPORTED_PATTERN.get() {
        return Err(badarg());
    }
    let options = without_export(caller, options).unwrap_or(options);
    let compiled = compile_pattern(caller, pattern, options)?;
    match compiled.tuple_elements() {
        Some(&[atoms::OK, pattern]) => Ok(pattern),
        _ => Err(badarg()),
    }
}

/// `compile/2`
fn compile_pattern(caller: &mut Caller<'_>, pattern: Term, options_term: Term) -> Outcome {
    if release_number() >= EXPORTS_SINCE
        && let Some(options) = without_export(caller, options_term)
    {
        return export_pattern(caller, pattern, options);
    }
    let options = options_of(caller, options_term)?;
    if options.only_for_run {
        return Err(badarg_because(caller, atoms::ERL_STDLIB_ERRORS, atoms::BADOPT));
    }
    if options.compile.unicode && !pattern.is_bitstring() {
        return Err(go_on("ucompile", vec![pattern, options_term]));
    }
    let pattern = iolist::iolist_bytes(pattern)?;
    charge_bytes(caller, pattern.len());
    let key = Key::new(&options.compile, &pattern);
    let (tag, value) = match compiled(&key) {
        Ok(regex) => (atoms::OK, pattern_term(caller, &key, &regex)),
        Err(error) => (atoms::ERROR, error_term(caller, &error)),
    };
    Ok(caller.heap().tuple(&[tag, value]))
}

fn compile(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    compile_pattern(caller, arguments[0], Term::NIL)
}

fn compile_with_options(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    compile_pattern(caller, arguments[0], arguments[1])
}

fn run(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    run_pattern(caller, arguments[0], arguments[1], Term::NIL)
}

fn run_with_options(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    run_pattern(caller, arguments[0], arguments[1], arguments[2])
}

/// `internal_run(Subject, Pattern, Options, IsFirst)`: for `re:grun`, which runs the same pattern again and again.
fn internal_run(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match arguments[3] {
        atoms::TRUE | atoms::FALSE => run_pattern(caller, arguments[0], arguments[1], arguments[2]),
        _ => Err(badarg()),
    }
}

fn run_pattern(caller: &mut Caller<'_>, subject: Term, pattern: Term, options_term: Term) -> Outcome {
    let options = options_of(caller, options_term)?;
    // A list of characters is made of UTF-8 by OTP's `re`, which then comes here again.
    let as_list = options.capture.is_some_and(|capture| capture.shape == atoms::LIST) && !options.global;
    let characters = |pattern_too: bool| pattern_too || !subject.is_bitstring() || as_list;
    if pattern.tuple_elements().is_some_and(|elements| elements.len() == 5) {
        if options.only_for_compile {
            return Err(badarg());
        }
        let mut key = key_of(pattern).ok_or(Exception::badarg())?;
        if key.options().unicode && characters(false) {
            return Err(go_on("urun", vec![subject, pattern, options_term]));
        }
        if options.global {
            let how = caller.heap().tuple(&[options_term, atoms::FALSE]);
            return Err(go_on("grun", vec![subject, pattern, how]));
        }
        key.set_line_ends(options.compile.newline, options.compile.line_breaks);
        let regex = compiled(&key).map_err(|_| badarg())?;
        return find(caller, subject, key.options().unicode, &regex, &options);
    }
    if !pattern.is_bitstring() && !pattern.is_list() {
        return Err(badarg());
    }
    if options.compile.unicode && characters(!pattern.is_bitstring()) {
        return Err(go_on("urun", vec![subject, pattern, options_term]));
    }
    let key = Key::new(&options.compile, &iolist::iolist_bytes(pattern)?);
    let regex = match compiled(&key) {
        Ok(regex) => regex,
        Err(error) if options.report_errors => {
            let error = error_term(caller, &error);
            let heap = caller.heap();
            let error = heap.tuple(&[COMPILE.get(), error]);
            return Ok(heap.tuple(&[atoms::ERROR, error]));
        }
        Err(_) => return Err(badarg()),
    };
    if options.global {
        let precompiled = pattern_term(caller, &key, &regex);
        let clean = Term::boolean(options.only_for_compile);
        let how = caller.heap().tuple(&[options_term, clean, pattern]);
        return Err(go_on("grun", vec![subject, precompiled, how]));
    }
    find(caller, subject, options.compile.unicode, &regex, &options)
}

fn find(caller: &mut Caller<'_>, subject: Term, unicode: bool, regex: &Rc<Regex>, options: &Options) -> Outcome {
    let choice = match &options.capture {
        Some(capture) => choice_of(capture, regex)?,
        None => (Shape::Index, Choice::From(0)),
    };
    let bits = subject.bits().filter(|bits| bits.is_binary());
    let bytes = match &bits {
        Some(bits) => bits.to_bytes(),
        None => iolist::iolist_bytes(subject)?.into(),
    };
    let found = match unicode {
        true => find_in_text(subject, &bytes, regex, options),
        false => regex.find(&bytes, options.offset, &options.run),
    };
    // Behind a match nothing was looked at.
    let end = match &found {
        Ok(Some(spans)) => spans.first().copied().flatten().map_or(bytes.len(), |(_, end)| end),
        _ => bytes.len(),
    };
    charge_bytes(caller, end.saturating_sub(options.offset));
    let error = match found {
        Ok(Some(found)) => {
            let text = Text { bytes: &bytes, binary: bits.map(|_| subject) };
            return Ok(captures(caller, &text, &found, &choice));
        }
        Ok(None) | Err(MatchError::RecursionLoop) => return Ok(NO_MATCH.get()),
        Err(MatchError::MatchLimit) => "match_limit",
        Err(MatchError::RecursionLimit) => "match_limit_recursion",
        Err(MatchError::BadOffset | MatchError::BadUtf8) => return Err(badarg()),
        Err(MatchError::Failed) => return Err(Exception::system_limit().into()),
    };
    match options.report_errors {
        true => Ok(caller.heap().tuple(&[atoms::ERROR, known_atom(error)])),
        false => Ok(NO_MATCH.get()),
    }
}

fn choice_of(capture: &Capture, regex: &Regex) -> Result<(Shape, Choice), Exception> {
    capture.resolve(regex).ok_or(Exception::badarg())
}

thread_local! {
    /// The last large subject that was found to be UTF-8: `global` runs a pattern on the same one again and again.
    static KNOWN: RefCell<Option<KnownText>> = const { RefCell::new(None) };
}

/// Runs a pattern for characters, and looks through each subject once.
fn find_in_text(
    subject: Term,
    bytes: &[u8],
    regex: &Regex,
    options: &Options,
) -> Result<Option<Vec<atoll_regex::Span>>, MatchError> {
    KNOWN.with_borrow_mut(|known| {
        if known.as_ref().is_none_or(|known| known.of_bytes(bytes).is_none()) {
            *known = KnownText::new(subject);
        }
        let text = known.as_ref().and_then(|known| known.of_bytes(bytes));
        let found = match text {
            Some(text) => regex.find_in_text(text, options.offset, &options.run),
            None => regex.find(bytes, options.offset, &options.run),
        };
        // A program does not search on behind a search that found nothing.
        if !matches!(found, Ok(Some(_))) {
            *known = None;
        }
        found
    })
}

/// A subject: its bytes, and the binary that they are the bytes of.
struct Text<'t> {
    bytes: &'t [u8],
    binary: Option<Term>,
}

/// The result of a match.
fn captures(caller: &mut Caller<'_>, text: &Text<'_>, found: &[atoll_regex::Span], choice: &(Shape, Choice)) -> Term {
    let span = |group: usize| found.get(group).copied().flatten();
    let spans: Vec<atoll_regex::Span> = match (&choice.0, &choice.1) {
        (Shape::None, _) => return MATCH.get(),
        (_, Choice::From(first)) => found.get(*first..).unwrap_or_default().to_vec(),
        (_, Choice::Groups(groups)) => groups.iter().map(|group| group.iter().find_map(|group| span(*group))).collect(),
    };
    let terms: Vec<Term> = spans.into_iter().map(|span| one_capture(caller, text, span, choice.0)).collect();
    let heap = caller.heap();
    let list = heap.list(terms);
    heap.tuple(&[MATCH.get(), list])
}

fn one_capture(caller: &mut Caller<'_>, text: &Text<'_>, span: atoll_regex::Span, shape: Shape) -> Term {
    let heap = caller.heap();
    if shape == Shape::Index {
        let (start, length) = span.map_or((-1, 0), |(start, end)| (start as i64, end as i64 - start as i64));
        return heap.tuple(&[Term::small(start), Term::small(length)]);
    }
    let (start, end) = span.unwrap_or((0, 0));
    let bytes = text.bytes.get(start..end).unwrap_or_default();
    match (shape, text.binary) {
        (Shape::Binary, Some(binary)) if !bytes.is_empty() => heap.part_of_bits(binary, 8 * start, 8 * bytes.len()),
        (Shape::Binary, _) => heap.binary(bytes),
        _ => heap.list(bytes.iter().map(|byte| Term::small(i64::from(*byte)))),
    }
}

/// `inspect(Pattern, namelist)`
fn inspect(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let key = key_of(arguments[0]).filter(|_| arguments[1] == NAME_LIST.get()).ok_or(Exception::badarg())?;
    let regex = compiled(&key).map_err(|_| badarg())?;
    let mut names: Vec<&[u8]> = regex.names().iter().map(|(name, _)| name.as_slice()).collect();
    names.dedup();
    let heap = caller.heap();
    let names: Vec<Term> = names.into_iter().map(|name| heap.binary(name)).collect();
    let list = heap.list(names);
    Ok(heap.tuple(&[NAME_LIST.get(), list]))
}

/// `version/0`: of the library that is used here. Programs that keep compiled patterns compare it, and compile
/// those of another version again.
fn version(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().binary(atoll_regex::version().as_bytes()))
}
