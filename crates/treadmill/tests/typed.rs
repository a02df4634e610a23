//! The safe interface: lists, arrays, dropping, threads, and what it refuses.
#![cfg(not(loom))]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use treadmill::{Config, Edge, EdgeVisitor, ForeignEdge, Heap, Preset, Trace};

#[derive(Trace)]
struct Node {
    value: u64,
    next: Edge<Node>,
}

#[derive(Trace)]
enum Shape {
    Leaf(u64),
    Pair { left: Edge<Shape>, right: Edge<Shape> },
    Nothing,
}

#[derive(Trace)]
struct Wrapper<T>(T, [Edge<Node>; 2]);

struct Counted(Arc<AtomicUsize>);

// SAFETY: there is no edge in it.
unsafe impl Trace for Counted {
    fn trace(&self, _: &mut EdgeVisitor<'_>) {}
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn heaps(limit: usize) -> impl Iterator<Item = (Preset, Heap)> {
    Preset::ALL.into_iter().map(move |preset| (preset, Heap::new(&Config::preset(preset, limit)).expect("a heap")))
}

#[test]
fn a_list_survives_its_collections() {
    for (preset, heap) in heaps(1 << 20) {
        let mutator = heap.mutator();
        let mut head = mutator.allocate(Node { value: 0, next: Edge::null() }).expect("room");
        for value in 1..2000 {
            let node = mutator.allocate(Node { value, next: Edge::null() }).expect("room");
            node.next.set(&mutator, Some(&head)).expect("same heap");
            head = node;
            for _ in 0..20 {
                mutator.allocate([0u64; 3]).expect("garbage makes room");
            }
        }
        assert!(heap.statistics().collections > 0, "{}", preset.name());
        let mut expected = 1999;
        while let Some(next) = head.next.get(&mutator) {
            assert_eq!(head.value, expected, "{}", preset.name());
            expected -= 1;
            head = next;
        }
        assert_eq!(expected, 0);
        mutator.verify().expect("a sound heap");
    }
}

#[test]
fn enums_and_generics_are_traced() {
    for (_, heap) in heaps(1 << 20) {
        let mutator = heap.mutator();
        let pair = mutator.allocate(Shape::Pair { left: Edge::null(), right: Edge::null() }).expect("room");
        if let Shape::Pair { left, right } = &*pair {
            left.set(&mutator, Some(&mutator.allocate(Shape::Leaf(7)).expect("room"))).expect("same heap");
            right.set(&mutator, Some(&mutator.allocate(Shape::Nothing).expect("room"))).expect("same heap");
        }
        let wrapper = mutator.allocate(Wrapper(5u32, [Edge::null(), Edge::null()])).expect("room");
        let node = mutator.allocate(Node { value: 9, next: Edge::null() }).expect("room");
        wrapper.1[1].set(&mutator, Some(&node)).expect("same heap");
        drop(node);
        mutator.collect();
        mutator.collect();
        let Shape::Pair { left, right } = &*pair else { panic!("a pair") };
        assert!(matches!(*left.get(&mutator).expect("kept"), Shape::Leaf(7)));
        assert!(matches!(*right.get(&mutator).expect("kept"), Shape::Nothing));
        assert_eq!((wrapper.0, wrapper.1[1].get(&mutator).expect("kept").value), (5, 9));
        assert!(wrapper.1[0].is_null());
    }
}

#[test]
fn arrays_may_allocate_while_they_are_made() {
    for (preset, heap) in heaps(2 << 20) {
        let mutator = heap.mutator();
        let array = mutator
            .allocate_array(3000, |index| {
                mutator.allocate_array(40, |_| index as u64).expect("room");
                Edge::<Node>::null()
            })
            .expect("room");
        for (index, edge) in array.iter().enumerate() {
            let node = mutator.allocate(Node { value: index as u64, next: Edge::null() }).expect("room");
            edge.set(&mutator, Some(&node)).expect("same heap");
        }
        mutator.collect();
        let sum: u64 = array.iter().map(|edge| edge.get(&mutator).expect("kept").value).sum();
        assert_eq!(sum, 2999 * 3000 / 2, "{}", preset.name());
    }
}

#[test]
fn the_dead_are_dropped_once() {
    for (preset, heap) in heaps(1 << 20) {
        let drops = Arc::new(AtomicUsize::new(0));
        let mutator = heap.mutator();
        let kept = mutator.allocate(Counted(Arc::clone(&drops))).expect("room");
        for _ in 0..10_000 {
            mutator.allocate(Counted(Arc::clone(&drops))).expect("room");
        }
        mutator.collect();
        mutator.collect();
        // The copying collector keeps what lies on the page of a root.
        if preset != Preset::Cp {
            assert_eq!(drops.load(Ordering::Relaxed), 10_000, "{}", preset.name());
        }
        drop(kept);
        drop(mutator);
        drop(heap);
        assert_eq!(drops.load(Ordering::Relaxed), 10_001, "{}", preset.name());
    }
}

#[test]
fn memory_runs_out_as_an_error() {
    for (preset, heap) in heaps(256 << 10) {
        let mutator = heap.mutator();
        let mut kept = Vec::new();
        let error = loop {
            match mutator.allocate([1u64; 30]) {
                Ok(root) => kept.push(root),
                Err(error) => break error,
            }
        };
        assert_eq!(error.limit, 256 << 10);
        assert!(kept.len() * 240 > (256 << 10) / 4, "{}: {} objects", preset.name(), kept.len());
        assert!(kept.iter().all(|array| array.iter().all(|word| *word == 1)));
        assert!(mutator.allocate_array(usize::MAX / 4, |_| 0u64).is_err());
        assert!(mutator.allocate_array(1 << 20, |_| 0u64).is_err());
        kept.clear();
        mutator.allocate([2u64; 30]).expect("room again");
    }
}

#[test]
fn edges_outside_of_the_heap_stay_null() {
    let heap = Heap::new(&Config::best(1 << 20)).expect("a heap");
    let other = Heap::new(&Config::best(1 << 20)).expect("a heap");
    let (mutator, foreign) = (heap.mutator(), other.mutator());
    let node = mutator.allocate(Node { value: 1, next: Edge::null() }).expect("room");
    let outside = Edge::null();
    assert_eq!(outside.set(&mutator, Some(&node)), Err(ForeignEdge));
    let stranger = foreign.allocate(Node { value: 2, next: Edge::null() }).expect("room");
    assert_eq!(node.next.set(&mutator, Some(&stranger)), Err(ForeignEdge));
    assert_eq!(node.next.set(&foreign, Some(&node)), Err(ForeignEdge));
    assert!(node.next.is_null() && outside.is_null());
    let global = mutator.global(&node).expect("a slot");
    assert!(global.local(&foreign).is_none());
    assert_eq!(global.local(&mutator).expect("same heap").value, 1);
}

/// Threads push onto a shared stack, pop from it, and make garbage; nothing popped is ever anything but what was
/// pushed.
#[test]
fn threads_share_a_heap() {
    #[derive(Trace)]
    struct Cell {
        sum: AtomicU64,
        top: Edge<Node>,
    }
    for preset in [Preset::TmRm, Preset::TmRt, Preset::Cp, Preset::AlsPh, Preset::Best] {
        let heap = Heap::new(&Config::preset(preset, 4 << 20)).expect("a heap");
        let mutator = heap.mutator();
        let cell = mutator.allocate(Cell { sum: AtomicU64::new(0), top: Edge::null() }).expect("room");
        let global = mutator.global(&cell).expect("a slot");
        drop(cell);
        let mut mutator = mutator;
        mutator.park(|| {
            std::thread::scope(|scope| {
                for thread in 0..4u64 {
                    let (heap, global) = (heap.clone(), &global);
                    scope.spawn(move || {
                        let mutator = heap.mutator();
                        for round in 0..4000u64 {
                            let cell = global.local(&mutator).expect("same heap");
                            let node = mutator.allocate(Node { value: 1, next: Edge::null() }).expect("room");
                            if let Some(top) = cell.top.get(&mutator)
                                && round % 64 != thread
                            {
                                assert_eq!(top.value, 1);
                                node.next.set(&mutator, Some(&top)).expect("same heap");
                            }
                            cell.top.set(&mutator, Some(&node)).expect("same heap");
                            cell.sum.fetch_add(1, Ordering::Relaxed);
                            let garbage = mutator.allocate_array(50, |_| round).expect("room");
                            assert!(garbage.iter().all(|value| *value == round));
                            heap.assist(std::time::Duration::from_micros(5));
                        }
                    });
                }
            });
        });
        let cell = global.local(&mutator).expect("same heap");
        assert_eq!(cell.sum.load(Ordering::Relaxed), 16_000);
        let mut length = 0;
        let mut at = cell.top.get(&mutator);
        while let Some(node) = at {
            assert_eq!(node.value, 1);
            length += 1;
            at = node.next.get(&mutator);
        }
        assert!(length > 0);
        mutator.verify().expect("a sound heap");
        assert!(heap.statistics().collections > 0, "{}", preset.name());
    }
}

/// What no object ever referred to and no handle refers to any more is used again at once, if the settings say so; what
/// anything refers to never is.
#[test]
fn temporaries_need_no_memory_and_nothing_else_is_taken_for_one() {
    for temporaries in [true, false] {
        let heap = Heap::new(&Config { temporaries, ..Config::best(1 << 20) }).expect("a heap");
        let mutator = heap.mutator();
        let kept = mutator.allocate_array(8, |_| Edge::<[u64]>::null()).expect("room");
        for round in 0..4_000_u64 {
            let array = mutator.allocate_array(400, |index| round + index as u64).expect("room");
            let twice = kept[0].get(&mutator);
            if round % 1000 == 7 {
                kept[(round / 1000) as usize].set(&mutator, Some(&array)).expect("one heap");
            }
            if round % 1000 == 8 {
                // Held by a second handle only, over the next allocation.
                let mut other = mutator.allocate_array(1, |_| 0_u64).expect("room");
                other.replace(&array);
                drop(array);
                let next = mutator.allocate_array(400, |_| u64::MAX).expect("room");
                assert!(
                    !next.same(&other) && other.iter().enumerate().all(|(index, word)| *word == round + index as u64)
                );
            }
            drop(twice);
        }
        for thousand in 0..4 {
            let array = kept[thousand].get(&mutator).expect("it was stored");
            assert!(array.iter().enumerate().all(|(index, word)| *word == (thousand * 1000 + 7 + index) as u64));
        }
        assert_eq!(heap.statistics().collections == 0, temporaries);
        mutator.verify().expect("a sound heap");
    }
}

/// What is backed at once is as much as on demand, and none of it is given back.
#[test]
fn a_backed_heap_keeps_its_limit() {
    let heap = Heap::new(&Config { backed: true, ..Config::best(48 << 20) }).expect("a heap");
    let mutator = heap.mutator();
    let mut kept = Vec::new();
    while let Ok(root) = mutator.allocate_array(3000, |index| index as u64) {
        kept.push(root);
    }
    let full = heap.usage();
    assert!(full.in_use <= full.limit && full.in_use > full.limit / 100 * 95, "{full:?}");
    drop(kept);
    mutator.collect();
    mutator.collect();
    assert_eq!(heap.statistics().returned_pages, 0);
    assert!(mutator.allocate_array(4 << 20, |index| index as u64).is_ok(), "its pages are free again");
    mutator.verify().expect("a sound heap");
}
