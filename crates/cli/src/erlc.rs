//! `atoll erlc`: OTP's compiler on Atoll. The words are those of `erlc`, which is a front end of `erl`.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::erl::{boot, own_options};

/// Compiles; returns the exit status.
pub fn erlc(words: Vec<OsString>) -> Result<i32, String> {
    let (options, words) = own_options(words)?;
    boot(options, command_line(words)?)
}

/// The command line of `erl` that does what these words ask of `erlc`.
fn command_line(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let mut front: VecDeque<OsString> = VecDeque::new();
    let fixed = ["+sbtu", "+A0", "-noinput", "-mode", "minimal", "-boot", "no_dot_erlang"];
    let mut line: Vec<OsString> = fixed.map(OsString::from).to_vec();
    line.extend(["-env", "ESCRIPT_NAME", "erlc", "-s", "erl_compile", "compile_cmdline", "-extra"].map(OsString::from));
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        match word.as_bytes() {
            // Atoll keeps no compile server.
            b"-d" | b"-server" | b"-no-server" => {}
            b"-smp" => front.push_front(word),
            [b'-', b'p', which @ (b'a' | b'z'), attached @ ..] => {
                let folder = if attached.is_empty() {
                    let next = words.next_if(|next| !next.as_bytes().starts_with(b"-"));
                    next.ok_or_else(|| format!("erlc: No value given to -{} option", 'p'))?
                } else {
                    std::ffi::OsStr::from_bytes(attached).to_owned()
                };
                front.push_front(folder);
                front.push_front(if *which == b'a' { "-pa".into() } else { "-pz".into() });
            }
            _ => line.push(word),
        }
    }
    front.push_front("+S1".into());
    Ok(front.into_iter().chain(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_go_to_the_machine_and_the_rest_to_the_compiler() {
        let words = "-o out -pa a -W x.erl".split(' ').map(OsString::from).collect();
        let line = command_line(words).unwrap().join(std::ffi::OsStr::new(" "));
        let line = line.to_string_lossy();
        assert!(line.starts_with("+S1 -pa a +sbtu"), "{line}");
        assert!(line.ends_with("-extra -o out -W x.erl"), "{line}");
        assert!(command_line(vec!["-pa".into()]).is_err());
    }
}
