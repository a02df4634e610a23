//! Random programs whose output is the same on every correct machine. The same seed gives the same program.

mod concurrent;
mod expression;
mod literal;
mod racing;
mod sequential;

use std::path::{Path, PathBuf};
use std::{fs, io};

use fastrand::Rng;

/// A module that evaluates random expressions and prints what they give.
pub fn sequential(name: &str, seed: u64) -> String {
    sequential::module(name, Rng::with_seed(seed))
}

/// As [`sequential`], of many small functions: what is found in them is found in less time.
pub fn small(name: &str, seed: u64) -> String {
    sequential::small(name, Rng::with_seed(seed))
}

/// A module that runs a random tree of processes and prints what they computed together.
pub fn concurrent(name: &str, seed: u64) -> String {
    concurrent::module(name, Rng::with_seed(seed))
}

/// A small module whose outcome depends on the order of events.
pub fn racing(name: &str, seed: u64) -> String {
    racing::module(name, Rng::with_seed(seed))
}

/// Writes a module of this name from a seed.
pub type Generator = fn(&str, u64) -> String;

/// Writes `count` modules and one, `name`, that runs them, into a folder, and gives the paths of all of them. The
/// modules have seeds that follow each other.
pub fn write_batch(folder: &Path, name: &str, module: Generator, seed: u64, count: u64) -> io::Result<Vec<PathBuf>> {
    let names: Vec<String> = (0..count).map(|number| format!("{name}_{number}")).collect();
    let mut texts: Vec<(&str, String)> = Vec::new();
    for (number, program) in (0..).zip(&names) {
        texts.push((program, module(program, seed.wrapping_add(number))));
    }
    texts.push((name, batch(name, &names)));
    texts
        .into_iter()
        .map(|(module, text)| {
            let source = folder.join(module).with_extension("erl");
            fs::write(&source, text)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", source.display())))?;
            Ok(source)
        })
        .collect()
}

/// A module that runs others, one after the other.
fn batch(name: &str, modules: &[String]) -> String {
    let calls: Vec<String> =
        modules.iter().map(|module| format!("    io:format(\"== {module}~n\"), {module}:main([])")).collect();
    format!("-module({name}).\n-export([main/1]).\nmain(_) ->\n{}.\n", calls.join(",\n"))
}

/// One of some.
fn pick<T: Copy>(random: &mut Rng, from: &[T]) -> T {
    from[random.usize(..from.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_program() {
        assert_eq!(sequential("m", 7), sequential("m", 7));
        assert_ne!(sequential("m", 7), sequential("m", 8));
        assert_eq!(concurrent("m", 7), concurrent("m", 7));
        assert_ne!(concurrent("m", 7), concurrent("m", 8));
        assert_eq!(small("m", 7), small("m", 7));
        assert_ne!(small("m", 7), small("m", 8));
    }

    #[test]
    fn generated_programs_compile() {
        let folder = std::env::temp_dir().join(format!("atoll-generate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut sources = Vec::new();
        let kinds: [(&str, Generator, u64); 3] =
            [("sequential", sequential, 25), ("concurrent", concurrent, 25), ("small", small, 5)];
        for (kind, text, seeds) in kinds {
            for seed in 0..seeds {
                let name = format!("{kind}{seed}");
                let source = folder.join(&name).with_extension("erl");
                std::fs::write(&source, text(&name, seed)).unwrap();
                sources.push(source);
            }
        }
        let result = crate::compile(&sources, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(result.is_ok(), "{}", result.unwrap_err());
    }
}
