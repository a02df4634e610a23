//! What the analysis costs beside the loader, and what it says of files:
//! `cargo run --release -p atoll-analysis --example loading FILES`
//!
//! Each file is loaded and analysed ten times; the shortest times are summed up.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use atoll_analysis::{Verdict, Ways, analyse, analyse_messages};

const ROUNDS: usize = 10;

fn main() {
    let (mut loading, mut analysing, mut around) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let (mut instructions, mut files) = (0, 0);
    for file in std::env::args().skip(1) {
        let bytes = std::fs::read(&file).expect("a file");
        let (mut loaded, mut analysed, mut near) = (Duration::MAX, Duration::MAX, Duration::MAX);
        for round in 0..ROUNDS {
            let start = Instant::now();
            let module = atoll_loader::load(&bytes).expect("a module");
            loaded = loaded.min(start.elapsed());
            let start = Instant::now();
            let analysis = analyse(&module, |_, _| false);
            analysed = analysed.min(start.elapsed());
            let start = Instant::now();
            analyse_messages(&module, |_, _| false);
            near = near.min(start.elapsed());
            if round > 0 {
                continue;
            }
            instructions += module.code.len();
            for site in &analysis.sites {
                let verdict = match site.verdict {
                    Verdict::Always => "always",
                    Verdict::Never => "never",
                    Verdict::Perhaps if site.ways == Ways::FAILED => "perhaps, by an exception",
                    Verdict::Perhaps => "perhaps",
                };
                *counts.entry((format!("{:?}", site.kind), verdict)).or_default() += 1;
            }
        }
        loading += loaded;
        analysing += analysed;
        around += near;
        files += 1;
    }
    println!("{files} files, {instructions} instructions: loader {loading:?}, analysis {analysing:?}");
    println!("analysis around places where something leaves: {around:?}");
    for ((kind, verdict), count) in counts {
        println!("{kind:7} {verdict:25} {count:6}");
    }
}
