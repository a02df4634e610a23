//! The verdicts on the sites of a program, whose functions' names say what they are to be.

use std::path::Path;
use std::process::Command;

use atoll_analysis::{Others, Site, Summary, Verdict, Ways, analyse, analyse_among, births, exits, line_of};
use atoll_loader::{Module, load};

/// Compiles a program of this folder; `None` without a compiler.
fn compiled(name: &str, options: &[&str]) -> Option<Module> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(format!("{name}.erl"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(std::thread::current().name().unwrap_or(name));
    std::fs::create_dir_all(&folder).expect("a folder");
    let Ok(status) = Command::new("erlc").args(options).arg("-o").arg(&folder).arg(&source).status() else {
        println!("skipped: no erlc");
        return None;
    };
    assert!(status.success(), "{name}.erl compiles");
    let bytes = std::fs::read(folder.join(format!("{name}.beam"))).expect("a file");
    Some(load(&bytes).expect("a module"))
}

fn function_of<'m>(module: &'m Module, site: &Site) -> &'m str {
    module.atom(module.functions[site.function as usize].name)
}

fn check(module: &Module) {
    let analysis = analyse(module, |_, _| false);
    let mut seen = [0; 3];
    for site in &analysis.sites {
        let name = function_of(module, site).trim_start_matches('-');
        let wanted = match name.split('_').next() {
            Some("always") => Verdict::Always,
            Some("perhaps") => Verdict::Perhaps,
            Some("never") => Verdict::Never,
            _ => continue,
        };
        let ways: Vec<&str> = site.ways.names().collect();
        assert_eq!(site.verdict, wanted, "{name}, {:?} at {}: {ways:?}", site.kind, site.index);
        seen[wanted as usize] += 1;
    }
    assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
}

#[test]
fn sites_are_what_their_functions_names_say() {
    compiled("verdicts", &[]).iter().for_each(check);
}

#[test]
fn without_the_compilers_types_too() {
    compiled("verdicts", &["+no_type_opt", "+no_ssa_opt"]).iter().for_each(check);
}

#[test]
fn built_in_functions_are_not_what_the_file_says() {
    let Some(module) = compiled("verdicts", &[]) else { return };
    let all_built_in = analyse(&module, |_, _| true);
    for site in all_built_in.sites.iter().filter(|site| function_of(&module, site) == "never_local") {
        assert_eq!(site.ways, Ways::UNKNOWN | Ways::FAILED);
    }
}

#[test]
fn a_summary_of_another_module_is_believed() {
    let Some(module) = compiled("verdicts", &[]) else { return };
    let place = module.functions.iter().position(|function| module.atom(function.name) == "mixed_left").expect("it");
    let plain = analyse(&module, |_, _| false);
    let looks: Summary = plain.summary(&module, place);
    let others = |owner: &str, name: &str, _: u8| (owner == "io" && name == "format").then_some(&looks);
    let others: &Others<'_> = &others;
    let site = |analysis: &atoll_analysis::Analysis| {
        *analysis.sites.iter().find(|site| function_of(&module, site) == "perhaps_unknown").expect("a site")
    };
    assert!(site(&plain).ways.meets(Ways::UNKNOWN));
    // It says nothing of the second argument: that is looked at by nobody.
    assert_eq!(site(&analyse_among(&module, |_, _| false, others)).verdict, Verdict::Never);
}

#[test]
fn what_is_sent_is_traced_to_where_it_is_born() {
    let Some(module) = compiled("verdicts", &[]) else { return };
    let name = |index: u32| {
        let of = |function: &&atoll_loader::Function| function.start <= index && index < function.end;
        module.atom(module.functions.iter().find(of).expect("a function").name)
    };
    let exits = exits(&module);
    let exit = *exits.iter().find(|exit| name(**exit) == "always_built_by_helper").expect("a send");
    let found = births(&module, exit, &|_, _, _| None);
    assert_eq!(found.sites.iter().map(|site| name(*site)).collect::<Vec<_>>(), ["always_build"]);
    let (file, line) = line_of(&module, found.sites[0]).expect("a line");
    assert!(file.ends_with("verdicts.erl") && line > 0);
    // X comes from other modules.
    let arguments: Vec<(&str, u8)> = found
        .arguments
        .iter()
        .map(|(function, argument)| (module.atom(module.functions[*function as usize].name), *argument))
        .collect();
    assert_eq!(arguments, [("always_built_by_helper", 1)]);
    assert!(found.outside.is_empty());
}
