//! The command line of `erl`: environment and files of arguments merged in, flags of the machine (`+S`) told from
//! those of OTP's `init` (`-s`).

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// A command line taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Flags of the machine with their values, without the `+`.
    pub machine: Vec<(String, Option<String>)>,
    /// What `init` gets.
    pub init: Vec<OsString>,
    /// Variables that are set with `-env`.
    pub environment: Vec<(OsString, OsString)>,
    /// The node has a name, so the daemon that keeps names of nodes is wanted.
    pub wants_epmd: bool,
    /// Only the version was asked for.
    pub version: bool,
    /// Only the arguments were asked for (`-emu_args_exit`).
    pub show_arguments: bool,
}

/// Flags that always have a value, which may be attached. Longer names stand before those that they begin with.
const WITH_VALUE: &[&str] = &[
    "SDPcpu", "SDcpu", "SDio", "SP", "S", "a", "A", "C", "e", "i", "n", "P", "Q", "t", "T", "R", "K", "IOPt", "IOPp",
    "IOt", "IOp", "hmaxib", "hmaxel", "hmaxk", "hmax", "hmbs", "hmqd", "hpds", "hms", "h", "rg", "pc", "zdbbl",
    "zdntgc", "zebwt", "zosrl", "sbtwdcpu", "sbwtdcpu", "sbwtdio", "sbwt", "sbt", "scl", "sct", "secio", "sfwi",
    "stbt", "swct", "swtdcpu", "swtdio", "swt", "sws", "sssdcpu", "sssdio", "sss", "spp", "sub", "JPperf", "JMsingle",
    "JDdump",
];
/// Flags that have none.
const ALONE: &[&str] = &[
    "Bi", "Bc", "Bd", "B", "l", "L", "r", "v", "x", "d", "D", "ec", "fnl", "fnu", "fna", "fnuw", "fnui", "fnue", "Ww",
    "Wi", "We", "ssrct", "k",
];

/// Takes words apart as `erl` does. `environment` gives the values of `ERL_AFLAGS`, `ERL_FLAGS` and `ERL_ZFLAGS`.
///
/// # Errors
/// What is wrong with the words.
pub fn parse(
    words: impl IntoIterator<Item = OsString>,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Result<CommandLine, String> {
    let mut all = Vec::new();
    let from_environment = |name: &str| environment(name).map(|text| split(&text, false)).unwrap_or_default();
    let mut words: Vec<OsString> = words.into_iter().collect();
    let extra = words.iter().position(|word| word == "-extra").unwrap_or(words.len());
    let behind = words.split_off(extra);
    for part in [from_environment("ERL_AFLAGS"), words, from_environment("ERL_FLAGS"), from_environment("ERL_ZFLAGS")] {
        expand(part, &mut all, 0)?;
    }
    all.extend(behind);
    take_apart(all)
}

/// Files of arguments within one another, before it is taken for a mistake.
const DEEPEST: usize = 32;

/// Puts the words of argument files in the place of `-args_file FILE`.
fn expand(words: Vec<OsString>, into: &mut Vec<OsString>, depth: usize) -> Result<(), String> {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "-extra" {
            into.push(word);
            into.extend(words);
            return Ok(());
        }
        if word != "-args_file" {
            into.push(word);
            continue;
        }
        let file = words.next().ok_or_else(|| missing("-args_file"))?;
        let shown = Path::new(&file).display().to_string();
        if depth > DEEPEST {
            return Err(format!("-args_file {shown}: files name each other"));
        }
        let text = std::fs::read(&file).map_err(|error| format!("-args_file {shown}: {error}"))?;
        expand(split(&OsString::from_vec(text), true), into, depth + 1)?;
    }
    Ok(())
}

/// Words of a text: white space between them, quotes and backslashes as in a shell; with comments from `#` on.
fn split(text: &OsString, comments: bool) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes: VecDeque<u8> = text.as_bytes().iter().copied().collect();
    while let Some(byte) = bytes.pop_front() {
        match (quote, byte) {
            (None, b'#') if comments && word.is_none() => while !matches!(bytes.pop_front(), Some(b'\n') | None) {},
            (None, byte) if byte.is_ascii_whitespace() => words.extend(word.take()),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (Some(open), byte) if byte == open => quote = None,
            (None | Some(b'"'), b'\\') => word.get_or_insert_default().extend(bytes.pop_front()),
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

fn missing(flag: &str) -> String {
    format!("Missing argument(s) for '{flag}'.")
}

fn take_apart(words: Vec<OsString>) -> Result<CommandLine, String> {
    let mut line = CommandLine::default();
    let mut words: VecDeque<OsString> = words.into();
    let mut halt_afterwards = false;
    let mut epmd_is_allowed = true;
    while let Some(word) = words.pop_front() {
        let text = word.to_string_lossy().into_owned();
        match text.as_str() {
            "-extra" => {
                line.init.push(word);
                line.init.extend(words.drain(..));
            }
            "-emu_args_exit" => line.show_arguments = true,
            "-emu_args" | "-keep_window" | "-smpenable" | "-smpauto" => {}
            "-smp" => match words.front().map(|next| next.to_string_lossy().into_owned()).as_deref() {
                Some("disable") => return Err("Argument '-smp disable' not supported. Use \"+S 1\" instead.".into()),
                Some("enable" | "auto") => drop(words.pop_front()),
                _ => {}
            },
            "-env" => {
                let (Some(name), Some(value)) = (words.pop_front(), words.pop_front()) else {
                    return Err(missing("-env"));
                };
                line.environment.push((name, value));
            }
            "-epmd" | "-emu_type" => drop(words.pop_front().ok_or_else(|| missing(&text))?),
            "-name" | "-sname" | "-start_epmd" => {
                let value = words.pop_front().ok_or_else(|| missing(&text))?;
                match text.as_str() {
                    "-start_epmd" if value != "true" && value != "false" => {
                        return Err("Expected boolean argument for '-start_epmd'.".into());
                    }
                    "-start_epmd" => epmd_is_allowed = value == "true",
                    _ => line.wants_epmd = true,
                }
                line.init.extend([word, value]);
            }
            "-no_epmd" => {
                epmd_is_allowed = false;
                line.init.push(word);
            }
            "-noinput" => line.init.extend(["-noshell", "-noinput"].map(OsString::from)),
            "-compile" => {
                line.init.extend(["-noshell", "-noinput", "-s", "c", "lc_batch"].map(OsString::from));
            }
            "-make" => {
                line.init.extend(["-noshell", "-noinput", "-s", "make", "all_or_nothing"].map(OsString::from));
                halt_afterwards = true;
                words.clear();
            }
            "-version" | "+V" => line.version = true,
            _ if text.starts_with('+') => machine_flag(&text, &mut words, &mut line)?,
            _ => line.init.push(word),
        }
    }
    line.wants_epmd &= epmd_is_allowed;
    if halt_afterwards {
        line.init.extend(["-s", "erlang", "halt"].map(OsString::from));
    }
    Ok(line)
}

fn machine_flag(text: &str, words: &mut VecDeque<OsString>, line: &mut CommandLine) -> Result<(), String> {
    let flag = &text[1..];
    let mut next = || words.pop_front().map(|word| word.to_string_lossy().into_owned()).ok_or_else(|| missing(text));
    // Flags of the memory allocators mean nothing here; each has a value.
    if flag.starts_with('M') && flag.len() > 1 {
        line.machine.push(("M".to_owned(), Some(next()?)));
        return Ok(());
    }
    if flag == "c" {
        let value =
            words.front().is_some_and(|word| word == "true" || word == "false").then(|| words.pop_front()).flatten();
        line.machine.push(("c".to_owned(), value.map(|value| value.to_string_lossy().into_owned())));
        return Ok(());
    }
    if flag == "B" {
        let which = words.front().is_some_and(|word| word == "i" || word == "c" || word == "d");
        let which = which.then(|| words.pop_front()).flatten().unwrap_or_default();
        line.machine.push((format!("B{}", which.to_string_lossy()), None));
        return Ok(());
    }
    if flag == "W" {
        line.machine.push((format!("W{}", next()?), None));
        return Ok(());
    }
    if ALONE.contains(&flag) {
        line.machine.push((flag.to_owned(), None));
        return Ok(());
    }
    let Some(name) = WITH_VALUE.iter().find(|name| flag.starts_with(**name)) else {
        return Err(format!("unknown flag {text}"));
    };
    let value = match &flag[name.len()..] {
        "" => next()?,
        attached => attached.to_owned(),
    };
    line.machine.push(((*name).to_owned(), Some(value)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<CommandLine, String> {
        parse(line.split(' ').map(OsString::from), |name| (name == "ERL_ZFLAGS").then(|| "-z 'a b'".into()))
    }

    fn shown(line: &CommandLine) -> String {
        line.init.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn flags_are_told_apart() {
        let line = parsed("+S 2 -noshell +hms500 -s m +sbwt none -extra +S 3").unwrap();
        let value = |text: &str| Some(text.to_owned());
        let expected = [("S", value("2")), ("hms", value("500")), ("sbwt", value("none"))];
        assert_eq!(line.machine, expected.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(shown(&line), "-noshell|-s|m|-z|a b|-extra|+S|3");
    }

    #[test]
    fn some_flags_may_be_parted_from_their_letter() {
        let line = parsed("-boot b +B i +W w +B -noshell +Bd").unwrap();
        let flags: Vec<&str> = line.machine.iter().map(|(flag, _)| flag.as_str()).collect();
        assert_eq!(flags, ["Bi", "Ww", "B", "Bd"]);
        assert_eq!(shown(&line), "-boot|b|-noshell|-z|a b");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert!(parsed("+bogus").is_err());
        // Nothing stands behind the variable, not even another flag.
        assert!(parse(["-env", "A"].map(OsString::from).into_iter(), |_| None).is_err());
        assert!(parsed("-smp disable").is_err());
    }

    #[test]
    fn texts_are_split_as_in_a_shell() {
        let words = split(&"a 'b c' \"d\\\"e\" # no\nf\\ g".into(), true);
        assert_eq!(words, ["a", "b c", "d\"e", "f g"]);
    }
}
