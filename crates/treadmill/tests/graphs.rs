//! Random graphs on every configuration: what is reachable keeps its content, what is not is reclaimed within two
//! collections.
#![cfg(not(loom))]

mod common;

use common::{Random, Shadow, allocate, heap, id_of, link, pattern, reference, rooted, unroot};
use proptest::prelude::*;
use treadmill::{Config, Preset};

#[derive(Clone, Debug)]
enum Op {
    Allocate { refs: usize, words: usize, finalizable: bool },
    Link { from: usize, field: usize, to: Option<usize> },
    Follow { from: usize, field: usize },
    Drop { root: usize },
    Collect,
    Verify,
}

fn op() -> impl Strategy<Value = Op> {
    // Objects of nearly a page, 512 words, have it for themselves.
    let size =
        prop_oneof![20 => 1usize..12, 6 => 12usize..120, 3 => 120usize..1100, 2 => 490usize..520, 1 => 1100usize..6000];
    prop_oneof![
        12 => (0usize..5, size, any::<bool>())
            .prop_map(|(refs, words, finalizable)| Op::Allocate { refs, words, finalizable }),
        8 => (any::<usize>(), 0usize..5, proptest::option::of(any::<usize>()))
            .prop_map(|(from, field, to)| Op::Link { from, field, to }),
        3 => (any::<usize>(), 0usize..5).prop_map(|(from, field)| Op::Follow { from, field }),
        6 => any::<usize>().prop_map(|root| Op::Drop { root }),
        1 => Just(Op::Collect),
        1 => Just(Op::Verify),
    ]
}

fn run(config: &Config, ops: &[Op], exact: bool) {
    let (heap, dead) = heap(config);
    let mutator = heap.mutator();
    let mut shadow = Shadow::default();
    let mut next_id = 1;
    for op in ops {
        let count = shadow.roots.len();
        match op {
            Op::Allocate { refs, words, finalizable } => {
                let id = next_id;
                let words = (*words).max(refs + 2);
                let Ok(object) = allocate(&mutator, id, *refs, words, *finalizable) else {
                    let victim = count / 2;
                    for (slot, _) in shadow.roots.drain(..victim) {
                        unroot(&mutator, slot);
                    }
                    continue;
                };
                next_id += 1;
                shadow.objects.insert(id, (vec![None; *refs], words));
                if *finalizable {
                    shadow.finalizable.insert(id);
                }
                shadow.roots.push((mutator.root(object).expect("a slot"), id));
            }
            Op::Link { from, field, to } if count > 0 => {
                let (slot, id) = shadow.roots[from % count];
                let to = to.map(|to| shadow.roots[to % count]);
                let fields = &mut shadow.objects.get_mut(&id).expect("known").0;
                if *field < fields.len() {
                    fields[*field] = to.map(|(_, id)| id);
                    let target = to.map(|(slot, _)| rooted(&mutator, slot).expect("rooted"));
                    link(&mutator, rooted(&mutator, slot).expect("rooted"), *field, target);
                }
            }
            Op::Follow { from, field } if count > 0 => {
                let (slot, id) = shadow.roots[from % count];
                if let Some(Some(to)) = shadow.objects[&id].0.get(*field) {
                    let object = rooted(&mutator, slot).expect("rooted");
                    let found = common::reference(object, *field).expect("linked");
                    shadow.roots.push((mutator.root(found).expect("a slot"), *to));
                }
            }
            Op::Drop { root } if count > 0 => {
                let (slot, _) = shadow.roots.swap_remove(root % count);
                unroot(&mutator, slot);
            }
            Op::Collect => mutator.collect(),
            Op::Verify => mutator.verify().expect("a sound heap"),
            _ => {}
        }
        let usage = heap.usage();
        assert!(usage.in_use <= usage.limit, "{usage:?}");
    }
    shadow.finish(config, &heap, &mutator, &dead, exact);
}

fn all(ops: &[Op], limit: usize, stress: usize) {
    for preset in Preset::ALL {
        let mut config = Config::preset(preset, limit);
        config.stress = stress;
        run(&config, ops, preset != Preset::Cp);
    }
    run(&Config { stress, backed: true, ..Config::best(limit) }, ops, true);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: common::effort(24), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graphs_survive(ops in proptest::collection::vec(op(), 1..600)) {
        all(&ops, 4 << 20, 0);
    }

    #[test]
    fn graphs_survive_stress(ops in proptest::collection::vec(op(), 1..200)) {
        all(&ops, 4 << 20, 3);
    }

    #[test]
    fn graphs_survive_in_tiny_heaps(ops in proptest::collection::vec(op(), 1..600)) {
        all(&ops, 192 << 10, 0);
    }
}

/// Long runs that pass through many collections.
#[test]
fn long_runs_keep_everything_reachable() {
    for preset in Preset::ALL {
        let (heap, _) = heap(&Config::preset(preset, 2 << 20));
        let mutator = heap.mutator();
        let mut shadow = Shadow::default();
        let mut random = Random(preset as u64 + 77);
        for id in 1..60_000 {
            let (refs, words) = (random.below(4), 2 + random.below(30) + 400 * usize::from(random.below(50) == 0));
            let words = words.max(refs + 2);
            while shadow.roots.len() > 150 {
                let victim = random.below(shadow.roots.len());
                unroot(&mutator, shadow.roots.swap_remove(victim).0);
            }
            let object = allocate(&mutator, id, refs, words, false).expect("room");
            shadow.objects.insert(id, (vec![None; refs], words));
            shadow.roots.push((mutator.root(object).expect("a slot"), id));
            // Shallow links keep the live data bounded: only to young objects without references.
            for field in 0..refs {
                let (slot, to) = shadow.roots[random.below(shadow.roots.len())];
                if shadow.objects[&to].0.is_empty() {
                    let from = shadow.roots.last().expect("one").0;
                    let target = rooted(&mutator, slot);
                    link(&mutator, rooted(&mutator, from).expect("rooted"), field, target);
                    shadow.objects.get_mut(&id).expect("known").0[field] = Some(to);
                }
            }
            if id % 10_000 == 0 {
                shadow.check(&mutator);
                mutator.verify().expect("a sound heap");
            }
        }
        assert!(heap.statistics().collections > 3, "{}: {:?}", preset.name(), heap.statistics());
    }
}

/// Of objects longer than 64 words some are rooted, some stored, some neither: what is either is never written over.
#[test]
fn medium_and_large_objects_live_as_long_as_they_are_reachable() {
    for (seed, stress) in [(3, 0), (4, 1), (5, 7)] {
        let (heap, _) = heap(&Config { stress, ..Config::best(4 << 20) });
        let mutator = heap.mutator();
        let mut random = Random(seed);
        let table = mutator.root(allocate(&mutator, 1, 64, 66, false).expect("room")).expect("a slot");
        let (mut stored, mut kept) = (vec![None; 64], Vec::new());
        for id in 2..6000u64 {
            let words = [70, 70, 300, 301, 497, 513, 900, 5][random.below(8)] + random.below(4);
            let object = allocate(&mutator, id, 0, words, id % 50 == 0).expect("room");
            match random.below(4) {
                0 => kept.push((mutator.root(object).expect("a slot"), id, words)),
                1 => {
                    let index = random.below(64);
                    link(&mutator, rooted(&mutator, table).expect("rooted"), index, Some(object));
                    stored[index] = Some((id, words));
                }
                _ => {}
            }
            if kept.len() > 200 {
                unroot(&mutator, kept.swap_remove(random.below(200)).0);
            }
            if id % 40 == 0 {
                for (slot, id, words) in &kept {
                    assert_sound(rooted(&mutator, *slot).expect("rooted"), *id, *words);
                }
                for (index, stored) in stored.iter().enumerate() {
                    let found = reference(rooted(&mutator, table).expect("rooted"), index);
                    assert_eq!(found.is_some(), stored.is_some());
                    if let (Some(object), Some((id, words))) = (found, stored) {
                        assert_sound(object, *id, *words);
                    }
                }
            }
        }
        mutator.verify().expect("a sound heap");
    }
}

/// How many rooted objects of `words` words fit, each on a heap that already held others; the roots end here.
fn fill(mutator: &treadmill::raw::RawMutator, words: usize) -> usize {
    let mut roots = Vec::new();
    while let Ok(object) = allocate(mutator, 1, 0, words, false) {
        roots.push(mutator.root(object).expect("a slot"));
    }
    mutator.verify().expect("a sound heap");
    let count = roots.len();
    roots.into_iter().for_each(|slot| unroot(mutator, slot));
    count
}

/// Metadata is paid for where it is needed: a page that one object fills has less than one that many share, also where
/// many shared it before.
#[test]
fn a_page_with_one_object_costs_little_more_than_the_page() {
    const LIMIT: usize = 2 << 20;
    for backed in [false, true] {
        let (heap, _) = heap(&Config { backed, ..Config::best(LIMIT) });
        let mutator = heap.mutator();
        let (lean, full) = (LIMIT / (4096 + 32), LIMIT / (4096 + 32 + 128));
        let expected = if backed { full } else { lean };
        for words in [501, 512, 496, 10, 501, 2, 512, 30] {
            let count = fill(&mutator, words);
            if words > 400 {
                // The page at the thread's hands, and the bitmaps of what little else there is.
                assert!(count <= expected && count + 3 >= expected, "{count} of {expected} objects of {words} words");
            } else {
                let most = full * (512 / words);
                assert!(count <= most && count + most / 50 >= most, "{count} of {most} objects of {words} words");
            }
            let usage = heap.usage();
            assert!(usage.in_use <= usage.limit, "{usage:?}");
        }
    }
}

fn assert_sound(object: std::ptr::NonNull<u64>, id: u64, words: usize) {
    assert_eq!(id_of(object), id);
    for index in 2..words {
        // SAFETY: the object is live, and so long.
        let word = unsafe { object.as_ptr().add(index).read() };
        assert_eq!(word, pattern(id, index), "word {index} of {id}");
    }
}
