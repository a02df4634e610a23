//! A native library in Rust: see rust_library.erl.
use std::sync::Mutex;

use rustler::{
    Atom, Binary, Encoder, Env, LocalPid, NifMap, NifResult, NifTaggedEnum, OwnedBinary, OwnedEnv, Resource,
    ResourceArc, Term,
};

mod atoms {
    rustler::atoms! { ok, done, down }
}

struct Counter(Mutex<i64>);

#[rustler::resource_impl]
impl Resource for Counter {
    fn down<'a>(&'a self, env: Env<'a>, pid: LocalPid, _: rustler::Monitor) {
        let _ = env.send(&pid, atoms::down());
    }
}

/// A resource whose bytes a binary lends.
struct Bytes(Vec<u8>);

#[rustler::resource_impl]
impl Resource for Bytes {}

#[derive(NifMap)]
struct Point {
    x: i64,
    y: f64,
}

#[derive(NifTaggedEnum)]
enum Shape {
    Circle(Point, u32),
    Nothing,
}

#[rustler::nif]
fn add(one: i64, other: i64) -> i64 {
    one + other
}

#[rustler::nif]
fn moved(shape: Shape) -> Shape {
    match shape {
        Shape::Circle(at, radius) => Shape::Circle(Point { x: at.x + 1, y: at.y * 2.0 }, radius),
        Shape::Nothing => Shape::Nothing,
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn reversed<'a>(env: Env<'a>, bytes: Binary<'a>) -> Option<Binary<'a>> {
    let mut made = OwnedBinary::new(bytes.len())?;
    made.as_mut_slice().copy_from_slice(bytes.as_slice());
    made.as_mut_slice().reverse();
    Some(made.release(env))
}

#[rustler::nif]
fn counter(start: i64) -> ResourceArc<Counter> {
    ResourceArc::new(Counter(Mutex::new(start)))
}

#[rustler::nif]
fn count(counter: ResourceArc<Counter>) -> NifResult<i64> {
    let mut count = counter.0.lock().map_err(|_| rustler::Error::Atom("poisoned"))?;
    *count += 1;
    Ok(*count)
}

#[rustler::nif]
fn watch(env: Env, counter: ResourceArc<Counter>, pid: LocalPid) -> bool {
    env.monitor(&counter, &pid).is_some()
}

#[rustler::nif]
fn lent(env: Env<'_>, size: usize) -> Binary<'_> {
    ResourceArc::new(Bytes((0..size).map(|index| index as u8).collect())).make_binary(env, |bytes| &bytes.0)
}

#[rustler::nif]
fn from_thread(pid: LocalPid, text: String) -> Atom {
    std::thread::spawn(move || {
        let _ = OwnedEnv::new().send_and_clear(&pid, |env| (atoms::done(), text).encode(env));
    });
    atoms::ok()
}

#[rustler::nif]
fn panics() -> i64 {
    panic!("as it should")
}

#[rustler::nif]
fn sum(terms: Vec<Term>) -> NifResult<i64> {
    terms.into_iter().map(|term| term.decode::<i64>()).sum()
}

rustler::init!("rust_library");
