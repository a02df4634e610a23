//! Which crate may see which, and what each must say of itself.

use atoll_tidy::{Package, packages, read, report};

/// Crates that handle raw memory or threads of their own; all others forbid `unsafe`.
const LOW_LEVEL: [&str; 15] = [
    "architectures",
    "code",
    "heap",
    "interpreter",
    "native",
    "nifs",
    "operations",
    "platform",
    "process",
    "regex",
    "runtime",
    "scheduler",
    "term",
    "treadmill",
    "zlib",
];
/// Engines run code; they do not know each other.
const ENGINES: [&str; 2] = ["interpreter", "native"];

/// Folders below `crates/` in the order of ARCHITECTURE.md's tree.
fn order() -> Vec<String> {
    let page = read("ARCHITECTURE.md");
    let tree = page.lines().skip_while(|line| line.trim() != "crates/").skip(1);
    let rooms = tree.take_while(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().next());
    let order: Vec<String> = rooms.filter_map(|word| word.strip_suffix('/')).map(str::to_owned).collect();
    assert!(order.len() > 5, "ARCHITECTURE.md has a tree of the crates, in which each line begins with its folder");
    order
}

/// The folders that a crate itself depends on, tests aside.
fn dependencies(package: &Package) -> Vec<String> {
    let own = package.dependencies.iter().filter(|dependency| dependency.kind.as_deref() != Some("dev"));
    own.filter_map(|dependency| Some(dependency.path.as_ref()?.file_name()?.to_string_lossy().into_owned())).collect()
}

#[test]
fn the_tree_in_the_architecture_page_is_the_one_that_is_there() {
    let order = order();
    let rooms: Vec<String> = packages().iter().map(Package::room).collect();
    let unlisted = rooms.iter().filter(|room| !order.contains(room)).map(|room| format!("{room} is not listed"));
    let gone = order.iter().filter(|room| !rooms.contains(room)).map(|room| format!("{room} does not exist"));
    report("ARCHITECTURE.md lists the crates", &unlisted.chain(gone).collect::<Vec<_>>());
}

#[test]
fn a_crate_sees_only_those_above_it() {
    let order = order();
    let place = |room: &str| order.iter().position(|listed| listed == room);
    let mut broken = Vec::new();
    for package in packages() {
        for seen in dependencies(&package) {
            if place(&seen) >= place(&package.room()) {
                broken.push(format!("{} depends on {seen}, which stands below it", package.room()));
            }
        }
    }
    report("a crate depends only on crates above it in ARCHITECTURE.md", &broken);
}

#[test]
fn only_the_machine_as_a_whole_sees_the_architectures() {
    let packages = packages();
    let seeing = packages.iter().filter(|package| dependencies(package).contains(&"architectures".to_owned()));
    let broken: Vec<String> = seeing.map(Package::room).filter(|room| room != "vm").collect();
    report("only `vm` depends on `architectures`", &broken);
}

#[test]
fn engines_do_not_see_each_other() {
    let mut broken = Vec::new();
    for package in packages().iter().filter(|package| ENGINES.contains(&package.room().as_str())) {
        let others = dependencies(package).into_iter().filter(|seen| ENGINES.contains(&seen.as_str()));
        broken.extend(others.map(|other| format!("{} depends on {other}", package.room())));
    }
    report("what two engines share stands in `operations`, `code` and `runtime`", &broken);
}

#[test]
fn crates_that_are_not_low_level_forbid_unsafe() {
    let mut broken = Vec::new();
    for package in packages() {
        if LOW_LEVEL.contains(&package.room().as_str()) {
            continue;
        }
        let roots = package
            .targets
            .iter()
            .filter(|target| target.kind.iter().any(|kind| ["lib", "bin", "proc-macro"].contains(&kind.as_str())));
        for root in roots {
            let text = std::fs::read_to_string(&root.src_path).expect("a target has a root file");
            if !text.lines().any(|line| line == "#![forbid(unsafe_code)]") {
                broken.push(root.src_path.display().to_string());
            }
        }
    }
    report("crates beside the low-level ones begin with #![forbid(unsafe_code)]", &broken);
}

#[test]
fn every_crate_says_what_it_is_for_and_its_licence() {
    let mut broken = Vec::new();
    for package in packages() {
        if package.description.as_deref().unwrap_or_default().is_empty() {
            broken.push(format!("{}: no description", package.name));
        }
        if package.license.as_deref() != Some("Apache-2.0") {
            broken.push(format!("{}: licence {:?}", package.name, package.license));
        }
    }
    report("every crate has a description, and the licence Apache-2.0", &broken);
    assert!(read("LICENSE").contains("Apache License"));
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let mut broken = Vec::new();
    for package in packages() {
        let manifest = std::fs::read_to_string(&package.manifest_path).expect("a crate has a manifest");
        // A crate that is published by itself may repeat them instead.
        if !manifest.contains("[lints]\nworkspace = true") && !manifest.contains("undocumented_unsafe_blocks") {
            broken.push(package.name);
        }
    }
    report("[lints] workspace = true", &broken);
}

/// Whether an SPDX expression offers, for each of its parts, a licence that agrees with Apache-2.0.
fn agrees(licence: &str) -> bool {
    let fine = ["Apache-2.0", "MIT", "0BSD", "Zlib", "BSD-2-Clause", "BSD-3-Clause", "ISC", "BSL-1.0", "Unlicense"];
    let flat = licence.replace(['(', ')'], "").replace('/', " OR ");
    flat.split(" AND ").all(|part| {
        let mut offers = part.split(" OR ").map(|one| one.split(" WITH ").next().unwrap_or(one).trim());
        offers.any(|one| fine.contains(&one) || one.starts_with("Unicode"))
    })
}

#[test]
fn licences_of_libraries_agree_with_ours() {
    let mut broken = Vec::new();
    let libraries = atoll_tidy::libraries();
    for library in &libraries {
        let licence = library.license.as_deref().unwrap_or("none");
        if !agrees(licence) {
            broken.push(format!("{}: {licence}", library.name));
        }
    }
    assert!(libraries.len() > 20, "{} libraries", libraries.len());
    report("licences agree with Apache-2.0", &broken);
}

#[test]
fn offers_and_demands_of_licences_are_told_apart() {
    assert!(agrees("GPL-3.0 OR MIT") && agrees("MIT/Apache-2.0") && agrees("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!agrees("GPL-3.0") && !agrees("MIT AND GPL-2.0") && !agrees("none"));
}
