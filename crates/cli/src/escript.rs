//! `atoll escript`: runs an Erlang script as OTP's `escript` does.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::erl::{boot, own_options};

/// Runs a script; returns the exit status.
pub fn escript(words: Vec<OsString>) -> Result<i32, String> {
    let (options, words) = own_options(words)?;
    let place = words.iter().position(|word| !word.as_bytes().starts_with(b"-"));
    let script = place.map(|place| words[place].clone()).ok_or("escript: Missing filename")?;
    let shown = Path::new(&script).display();
    let text = std::fs::read(&script).map_err(|_| format!("escript: Failed to open file: {shown}"))?;
    boot(options, command_line(words, &text))
}

/// The command line of `erl` that does what these words, and the script's own line of flags, ask for.
fn command_line(words: Vec<OsString>, text: &[u8]) -> Vec<OsString> {
    let place = words.iter().position(|word| !word.as_bytes().starts_with(b"-")).unwrap_or(0);
    let mut line: Vec<OsString> = ["+B", "-boot", "no_dot_erlang", "-noshell"].map(OsString::from).to_vec();
    line.extend(own_flags(text));
    line.extend(["-env".into(), "ESCRIPT_NAME".into(), words[place].clone()]);
    line.extend(["-run", "escript", "start"].map(OsString::from));
    line.extend(words[..place].iter().map(|option| OsStr::from_bytes(&option.as_bytes()[1..]).to_owned()));
    line.push("-extra".into());
    line.extend(words[place..].iter().cloned());
    line
}

/// Flags behind `%%!` in the script's second or third line.
fn own_flags(text: &[u8]) -> Vec<OsString> {
    let mut lines = text.split(|byte| *byte == b'\n').skip(1).take(2);
    let Some(flags) = lines.find_map(|line| line.strip_prefix(b"%%!")) else { return Vec::new() };
    let words = flags.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    words.map(|word| OsStr::from_bytes(word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_script_stand_before_it() {
        let words = "-c s.es a -b".split(' ').map(OsString::from).collect();
        let line = command_line(words, b"#!/usr/bin/env escript\n%%! -smp +S 2\nmain(_) -> ok.\n");
        let line = line.join(OsStr::new(" "));
        let line = line.to_string_lossy();
        assert!(line.contains("-noshell -smp +S 2 "), "{line}");
        assert!(line.ends_with("-run escript start c -extra s.es a -b"), "{line}");
    }
}
