//! All files of the OTP on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use atoll_analysis::{Analysis, Kind, Site, Verdict, analyse, analyse_messages, births, exits, line_of};
use atoll_loader::{Instruction, load};

fn files() -> Vec<PathBuf> {
    let root = Command::new("erl").args(["-noshell", "-eval", "io:put_chars(code:lib_dir()),halt()."]).output();
    let Ok(output) = root else { return Vec::new() };
    let folders = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let libraries = folders(&root).flat_map(|library| folders(&library.join("ebin")).collect::<Vec<_>>());
    let mut files: Vec<PathBuf> = libraries.filter(|file| file.extension().is_some_and(|end| end == "beam")).collect();
    files.sort();
    files
}

#[test]
fn every_file_is_analysed() {
    let files = files();
    if files.is_empty() {
        println!("skipped: no OTP is installed");
        return;
    }
    let mut verdicts = [0; 3];
    for (number, path) in files.iter().enumerate() {
        let module = load(&std::fs::read(path).expect("readable")).expect("a module");
        let analysis = analyse(&module, |_, _| false);
        let is_site = |instruction: &Instruction| {
            matches!(instruction, Instruction::PutList { .. } | Instruction::PutTuple { .. })
        };
        let counted = module.code.iter().filter(|instruction| is_site(instruction)).count();
        let found = analysis.sites.iter().filter(|site| matches!(site.kind, Kind::Cons | Kind::Tuple)).count();
        assert_eq!(counted, found, "{}", path.display());
        assert!(analysis.sites.is_sorted_by_key(|site| site.index), "{}", path.display());
        for site in &analysis.sites {
            verdicts[site.verdict as usize] += 1;
            assert_eq!(analysis.site(site.index), Some(site));
            line_of(&module, site.index);
        }
        let likely = |analysis: &Analysis| -> Vec<Site> {
            analysis.sites.iter().filter(|site| site.likely || site.verdict == Verdict::Always).copied().collect()
        };
        assert_eq!(likely(&analyse_messages(&module, |_, _| false)), likely(&analysis), "{}", path.display());
        // Each trace is an analysis.
        if number % 16 == 0 {
            for exit in exits(&module) {
                for site in births(&module, exit, &|_, _, _| None).sites {
                    let site = analysis.site(site).expect("a site");
                    assert_ne!(site.verdict, Verdict::Never, "{} at {}", path.display(), site.index);
                }
            }
        }
    }
    println!("{} files: never, perhaps, always: {verdicts:?}", files.len());
    assert!(verdicts.iter().all(|count| *count > 0));
}
