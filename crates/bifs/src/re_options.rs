//! Options of `re:compile` and `re:run`.

use atoll_operations::{iolist, list};
use atoll_regex::{CompileOptions, LineBreaks, MatchOptions, Newline, Regex};
use atoll_term::atoms::known_atom;
use atoll_term::{Term, atoms};

/// An option list, taken apart.
#[derive(Default)]
pub struct Options {
    /// For the pattern.
    pub compile: CompileOptions,
    /// For the match.
    pub run: MatchOptions,
    /// Whether there is an option that only compiling knows.
    pub only_for_compile: bool,
    /// Whether there is an option that only running knows.
    pub only_for_run: bool,
    /// `global`
    pub global: bool,
    /// `report_errors`
    pub report_errors: bool,
    /// `{offset, Bytes}`
    pub offset: usize,
    /// `{capture, Values, Type}`
    pub capture: Option<Capture>,
}

/// What of a match is wanted, as the program says it.
#[derive(Clone, Copy)]
pub struct Capture {
    values: Term,
    /// `index`, `list` or `binary`; not checked yet.
    pub shape: Term,
}

/// How a part of the subject is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `{Offset, Length}`
    Index,
    /// A list of bytes.
    List,
    /// A binary.
    Binary,
    /// Not at all.
    None,
}

/// Which groups are wanted.
pub enum Choice {
    /// All from this one up to the last that took part.
    From(usize),
    /// These; of each list the first that took part.
    Groups(Vec<Vec<usize>>),
}

/// A number from 0 up that fits 31 bits.
fn natural(term: Term) -> Option<u32> {
    term.as_small().and_then(|number| i32::try_from(number).ok()).and_then(|number| u32::try_from(number).ok())
}

impl Options {
    /// Options from a term; none if one of them does not exist.
    pub fn parse(term: Term) -> Option<Options> {
        let mut options = Options::default();
        for option in list::elements(term)? {
            match option.tuple_elements() {
                Some(&[name, value]) if name.is_atom() => options.pair(atoms::atom_name(name), value)?,
                Some(&[name, values, shape]) if name.is_atom() && atoms::atom_name(name) == "capture" => {
                    options.capture = Some(Capture { values, shape });
                    options.only_for_run = true;
                }
                None if option.is_atom() => options.word(atoms::atom_name(option))?,
                _ => return None,
            }
        }
        Some(options)
    }

    fn pair(&mut self, name: &str, value: Term) -> Option<()> {
        if name == "newline" {
            self.compile.newline = Some(newline(value)?);
            return Some(());
        }
        match name {
            "capture" => self.capture = Some(Capture { values: value, shape: index() }),
            "offset" => self.offset = natural(value)? as usize,
            "match_limit" => self.run.match_limit = Some(natural(value)?),
            "match_limit_recursion" => self.run.match_limit_recursion = Some(natural(value)?),
            _ => return None,
        }
        self.only_for_run = true;
        Some(())
    }

    fn word(&mut self, name: &str) -> Option<()> {
        let (compile, run) = (&mut self.compile, &mut self.run);
        let for_run = match name {
            "notempty" => Some(&mut run.notempty),
            "notempty_atstart" => Some(&mut run.notempty_atstart),
            "notbol" => Some(&mut run.notbol),
            "noteol" => Some(&mut run.noteol),
            "global" => Some(&mut self.global),
            "report_errors" => Some(&mut self.report_errors),
            _ => None,
        };
        if let Some(flag) = for_run {
            *flag = true;
            self.only_for_run = true;
            return Some(());
        }
        match name {
            "anchored" => {
                compile.anchored = true;
                run.anchored = true;
            }
            "bsr_anycrlf" => compile.line_breaks = Some(LineBreaks::AnyCrlf),
            "bsr_unicode" => compile.line_breaks = Some(LineBreaks::Unicode),
            _ => {
                *compile_flag(compile, name)? = true;
                self.only_for_compile = true;
            }
        }
        Some(())
    }
}

fn index() -> Term {
    known_atom("index")
}

fn compile_flag<'o>(options: &'o mut CompileOptions, name: &str) -> Option<&'o mut bool> {
    Some(match name {
        "unicode" => &mut options.unicode,
        "caseless" => &mut options.caseless,
        "dollar_endonly" => &mut options.dollar_endonly,
        "dotall" => &mut options.dotall,
        "extended" => &mut options.extended,
        "firstline" => &mut options.firstline,
        "multiline" => &mut options.multiline,
        "no_auto_capture" => &mut options.no_auto_capture,
        "dupnames" => &mut options.dupnames,
        "ungreedy" => &mut options.ungreedy,
        "ucp" => &mut options.ucp,
        "never_utf" => &mut options.never_utf,
        "no_start_optimize" => &mut options.no_start_optimize,
        _ => return None,
    })
}

fn newline(term: Term) -> Option<Newline> {
    let name = atoms::name_if_atom(term);
    Some(match name {
        "cr" => Newline::Cr,
        "lf" => Newline::Lf,
        "crlf" => Newline::Crlf,
        "anycrlf" => Newline::AnyCrlf,
        "any" => Newline::Any,
        "nul" => Newline::Nul,
        _ => return None,
    })
}

impl Capture {
    /// What this means for a pattern; none if it means nothing.
    pub fn resolve(&self, regex: &Regex) -> Option<(Shape, Choice)> {
        let shape = match self.shape {
            atoms::LIST => Shape::List,
            atoms::BINARY => Shape::Binary,
            other if other == index() => Shape::Index,
            _ => return None,
        };
        let nothing = (Shape::None, Choice::From(0));
        if self.values.is_nil() {
            return Some(nothing);
        }
        if !self.values.is_atom() {
            let values = list::elements(self.values)?;
            let groups = values.into_iter().map(|value| group(value, regex)).collect::<Option<_>>()?;
            return Some((shape, Choice::Groups(groups)));
        }
        let choice = match atoms::atom_name(self.values) {
            "all" => Choice::From(0),
            "all_but_first" => Choice::From(1),
            "first" => Choice::Groups(vec![vec![0]]),
            "none" => return Some(nothing),
            "all_names" if regex.names().is_empty() => return Some(nothing),
            "all_names" => Choice::Groups(all_names(regex)),
            _ => return None,
        };
        Some((shape, choice))
    }
}

/// The groups of each name, by name.
fn all_names(regex: &Regex) -> Vec<Vec<usize>> {
    let same = |a: &(Vec<u8>, u32), b: &(Vec<u8>, u32)| a.0 == b.0;
    let numbers = |names: &[(Vec<u8>, u32)]| names.iter().map(|(_, number)| *number as usize).collect();
    regex.names().chunk_by(same).map(numbers).collect()
}

/// The groups that a number or a name stands for: none for one that does not exist.
fn group(value: Term, regex: &Regex) -> Option<Vec<usize>> {
    if value.is_small() {
        let number = i32::try_from(value.as_small()?).ok()?;
        return Some(usize::try_from(number).ok().into_iter().collect());
    }
    let name = match value.is_atom() {
        true => atoms::atom_name(value).as_bytes().to_vec(),
        false if value.is_bitstring() || value.is_list() => iolist::iolist_bytes(value).ok()?,
        false => return None,
    };
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let named = regex.names().iter().filter(|(own, _)| *own == name[..end]);
    Some(named.map(|(_, number)| *number as usize).collect())
}
