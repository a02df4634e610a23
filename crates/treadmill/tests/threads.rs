//! Random interleavings of several threads on one raw heap, with helpers that mark and a verifier that stops them now
//! and then.
#![cfg(not(loom))]

mod common;

use common::{Random, Shadow, allocate, heap, id_of, link, reference, rooted, unroot};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use treadmill::{Config, Preset};

/// Each thread has a graph of its own with a shadow, and follows and publishes references through shared objects.
fn interleave(preset: Preset, seed: u64, limit: usize) {
    let (heap, dead) = heap(&Config::preset(preset, limit));
    let mut owner = heap.mutator();
    let shared = allocate(&owner, 1, 16, 18, false).expect("room");
    let shared = owner.global_root(shared).expect("a slot");
    let done = AtomicBool::new(false);
    owner.park(|| {
        std::thread::scope(|scope| {
            let helper = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if !heap.assist(Duration::from_micros(50)) {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
            });
            let threads: Vec<_> = (0..3u64)
                .map(|thread| {
                    let heap = &heap;
                    scope.spawn(move || {
                        let mutator = heap.mutator();
                        let mut random = Random(seed * 31 + thread + 1);
                        let mut shadow = Shadow::default();
                        for step in 0..3000u64 {
                            let id = (thread + 1) << 32 | step;
                            let (refs, extra) = (random.below(3), random.below(20));
                            let words = 2 + refs + if step.is_multiple_of(200) { 700 } else { extra };
                            let Ok(object) = allocate(&mutator, id, refs, words, step.is_multiple_of(5)) else {
                                shadow.roots.drain(..).for_each(|(slot, _)| unroot(&mutator, slot));
                                continue;
                            };
                            shadow.objects.insert(id, (vec![None; refs], words));
                            if step.is_multiple_of(5) {
                                shadow.finalizable.insert(id);
                            }
                            shadow.roots.push((mutator.root(object).expect("a slot"), id));
                            for field in 0..refs {
                                let (slot, to) = shadow.roots[random.below(shadow.roots.len())];
                                let from = shadow.roots.last().expect("one").0;
                                let target = rooted(&mutator, slot);
                                link(&mutator, rooted(&mutator, from).expect("rooted"), field, target);
                                shadow.objects.get_mut(&id).expect("known").0[field] = Some(to);
                            }
                            while shadow.roots.len() > 60 {
                                let victim = random.below(shadow.roots.len());
                                unroot(&mutator, shadow.roots.swap_remove(victim).0);
                            }
                            // Publishes a leaf, and looks at one that another thread published.
                            let table = mutator.global(shared).expect("a root");
                            if refs == 0 {
                                let object = rooted(&mutator, shadow.roots.last().expect("one").0);
                                link(&mutator, table, random.below(16), object);
                            }
                            if let Some(other) = reference(table, random.below(16)) {
                                assert!(id_of(other) >> 32 <= 3, "a live object");
                            }
                            if step % 500 == 499 {
                                mutator.verify().expect("a sound heap");
                                shadow.check(&mutator);
                            }
                        }
                        shadow.check(&mutator);
                        mutator.collect();
                        mutator.collect();
                        shadow.check(&mutator);
                        shadow.reachable()
                    })
                })
                .collect();
            let live: Vec<HashSet<u64>> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
            done.store(true, Ordering::Relaxed);
            helper.join().expect("no panic");
            let dead = dead.lock().expect("no panic");
            assert!(!dead.is_empty() && !live.is_empty());
        })
    });
    owner.verify().expect("a sound heap");
    let dead = dead.lock().expect("no panic");
    let once: HashSet<u64> = dead.iter().copied().collect();
    assert_eq!(once.len(), dead.len(), "nothing dies twice");
}

#[test]
fn threads_interleave_on_the_paged_collector() {
    for seed in 1..5 {
        interleave(Preset::Best, seed, 3 << 20);
    }
}

#[test]
fn threads_interleave_in_a_tiny_heap() {
    interleave(Preset::Best, 9, 320 << 10);
}

#[test]
fn threads_interleave_on_the_incremental_lists() {
    interleave(Preset::TmRt, 3, 3 << 20);
}

#[test]
fn threads_interleave_on_the_other_collectors() {
    interleave(Preset::TmRm, 4, 3 << 20);
    interleave(Preset::AlsPh, 5, 3 << 20);
    interleave(Preset::FlsPf2, 6, 3 << 20);
}
