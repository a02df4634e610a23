//! What a Rust type must say of itself to live in a heap: which of its fields refer to other objects.

use crate::runtime::Visitor;
use crate::typed::{Managed, Mutator, Root};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize, Ordering,
};

/// A type whose values can live in a heap.
///
/// Derive it with `#[derive(Trace)]`, which traces each field. Objects are shared by threads, hence `Send` and `Sync`;
/// types that need dropping are dropped by the collector once their object has died, when all their edges are already
/// null.
///
/// # Safety
/// [`Trace::trace`] must hand every [`Edge`] inside the value to the visitor, whatever the value's state, and an edge
/// must never be inside something that lets it be moved out through a shared reference (a `Mutex`, a `RefCell`):
/// `Trace` is deliberately not implemented for those.
pub unsafe trait Trace: Send + Sync + 'static {
    /// Hands all edges of the value to the visitor. Must not panic.
    fn trace(&self, edges: &mut EdgeVisitor<'_>);
}

/// Visits the edges of a value on behalf of a collector.
pub struct EdgeVisitor<'a> {
    sink: Sink<'a>,
}

impl fmt::Debug for EdgeVisitor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeVisitor").finish_non_exhaustive()
    }
}

enum Sink<'a> {
    Report(&'a mut dyn FnMut(NonNull<u64>) -> NonNull<u64>),
    Clear,
}

impl<'a> EdgeVisitor<'a> {
    /// Calls `what` with a visitor that reports edges to `visitor`.
    pub(crate) fn reporting(visitor: &mut Visitor<'_>, what: impl FnOnce(&mut EdgeVisitor<'_>)) {
        let mut report = |object| visitor.visit(object);
        what(&mut EdgeVisitor { sink: Sink::Report(&mut report) });
    }

    /// A visitor that makes all edges null.
    pub(crate) fn clearing() -> EdgeVisitor<'a> {
        EdgeVisitor { sink: Sink::Clear }
    }

    fn edge(&mut self, cell: &AtomicPtr<u64>) {
        match &mut self.sink {
            Sink::Clear => cell.store(null_mut(), Ordering::Relaxed),
            Sink::Report(report) => {
                if let Some(object) = NonNull::new(cell.load(Ordering::Acquire)) {
                    let now = report(object);
                    if now != object {
                        cell.store(now.as_ptr(), Ordering::Relaxed);
                    }
                }
            }
        }
    }
}

/// A field that refers to another object of the same heap, or to none.
///
/// It can be read and changed by any thread that has the object it is in; each single read or change is atomic.
pub struct Edge<T: ?Sized> {
    to: AtomicPtr<u64>,
    what: PhantomData<fn() -> Box<T>>,
}

impl<T: ?Sized> fmt::Debug for Edge<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Edge({:p})", self.to.load(Ordering::Relaxed))
    }
}

impl<T: ?Sized> Default for Edge<T> {
    fn default() -> Edge<T> {
        Edge::null()
    }
}

/// An edge was set that is not inside an object of the mutator's heap (yet), or to an object of another heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignEdge;

impl fmt::Display for ForeignEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the edge or its target is not in this mutator's heap")
    }
}

impl std::error::Error for ForeignEdge {}

impl<T: ?Sized> Edge<T> {
    /// An edge to nothing: how every edge begins. It can be set once its object is in a heap.
    pub const fn null() -> Edge<T> {
        Edge { to: AtomicPtr::new(null_mut()), what: PhantomData }
    }

    /// Whether the edge leads to nothing now.
    pub fn is_null(&self) -> bool {
        self.to.load(Ordering::Relaxed).is_null()
    }
}

impl<T: ?Sized + Managed> Edge<T> {
    /// The object that the edge leads to, as a root of the calling thread.
    ///
    /// `None` for a null edge, for an edge of another heap, and when the thread's two billion root slots are used up.
    #[inline]
    pub fn get<'m>(&self, mutator: &'m Mutator) -> Option<Root<'m, T>> {
        let object = NonNull::new(self.to.load(Ordering::Acquire))?;
        // SAFETY: only `set` makes edges other than null, with objects of type `T`, and only edges inside live objects;
        // the collector keeps their targets alive at least until this thread's next poll, and by then there is a root.
        unsafe { mutator.root_of(object) }
    }

    /// Makes the edge lead to another object, or to nothing.
    ///
    /// # Errors
    /// [`ForeignEdge`], and nothing has changed, if the edge is not inside an object of the mutator's heap, or the
    /// target is of another heap.
    #[inline]
    pub fn set(&self, mutator: &Mutator, to: Option<&Root<'_, T>>) -> Result<(), ForeignEdge> {
        if !mutator.contains(std::ptr::from_ref(self).addr()) {
            return Err(ForeignEdge);
        }
        let Some(to) = to else {
            self.to.store(null_mut(), Ordering::Release);
            return Ok(());
        };
        if !mutator.contains(to.object().addr().get()) {
            return Err(ForeignEdge);
        }
        self.to.store(to.object().as_ptr(), Ordering::Release);
        mutator.barrier(to.object());
        Ok(())
    }
}

// SAFETY: reports itself.
unsafe impl<T: ?Sized + 'static> Trace for Edge<T> {
    fn trace(&self, edges: &mut EdgeVisitor<'_>) {
        edges.edge(&self.to);
    }
}

macro_rules! no_edges {
    ($($type:ty),* $(,)?) => {
        $(
            // SAFETY: there is no edge in it.
            unsafe impl Trace for $type {
                fn trace(&self, _: &mut EdgeVisitor<'_>) {}
            }
        )*
    };
}

no_edges!(
    (),
    bool,
    char,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    String,
    Box<str>,
    Box<[u8]>,
    Vec<u8>,
    AtomicBool,
    AtomicU8,
    AtomicU16,
    AtomicU32,
    AtomicU64,
    AtomicUsize,
    AtomicI8,
    AtomicI16,
    AtomicI32,
    AtomicI64,
    AtomicIsize,
    &'static str,
);

// SAFETY: traces what is in it, and gives no way to move it out.
unsafe impl<T: Trace> Trace for Option<T> {
    fn trace(&self, edges: &mut EdgeVisitor<'_>) {
        if let Some(value) = self {
            value.trace(edges);
        }
    }
}

// SAFETY: traces every element.
unsafe impl<T: Trace, const N: usize> Trace for [T; N] {
    fn trace(&self, edges: &mut EdgeVisitor<'_>) {
        self.iter().for_each(|value| value.trace(edges));
    }
}

// SAFETY: traces both.
unsafe impl<A: Trace, B: Trace> Trace for (A, B) {
    fn trace(&self, edges: &mut EdgeVisitor<'_>) {
        self.0.trace(edges);
        self.1.trace(edges);
    }
}
