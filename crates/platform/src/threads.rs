//! Threads, and the machine that each belongs to. Several machines can live in one process of the operating system; a
//! thread belongs to one of them at most, for as long as it lives. A thread that a machine starts belongs to the
//! machine of the thread that starts it.

use std::cell::Cell;
use std::io;
use std::thread::{Builder, JoinHandle};

/// A machine as threads see it.
pub trait Machine: Sync {
    /// Makes the parts of this machine known to the thread that calls this. Called once on each thread, by [`enter`].
    fn enter_parts(&'static self);
}

thread_local! {
    static MACHINE: Cell<Option<&'static dyn Machine>> = const { Cell::new(None) };
}

/// The machine of this thread.
pub fn machine() -> Option<&'static dyn Machine> {
    MACHINE.get()
}

/// From now on this thread belongs to the machine. What it holds of a machine (terms, memory of a heap) would be of no
/// use to another one, so it can belong to no other before or after.
pub fn enter(machine: &'static dyn Machine) {
    match MACHINE.replace(Some(machine)) {
        None => machine.enter_parts(),
        Some(other) => assert!(std::ptr::addr_eq(other, machine), "a thread belongs to one machine"),
    }
}

/// Has the system prefer other threads to this one, which does work that nobody waits for.
pub fn give_way() {
    // A tenth of what another thread gets of a processor that both want, so that it goes on where all are busy.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}

/// Starts a thread of the same machine.
///
/// # Errors
/// The system gives no more threads.
pub fn start<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    builder.spawn(in_this_machine(work))
}

/// The work, for another thread, which first enters the machine of the thread that calls this.
pub fn in_this_machine<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let machine = machine();
    move || {
        machine.into_iter().for_each(enter);
        work()
    }
}

/// Stops a thread that uses a part of a machine without having entered one. Without arguments, so that the functions
/// that find their part stay short.
#[cold]
#[inline(never)]
pub fn outside() -> ! {
    panic!("this thread uses a part of a machine, and has entered none")
}

/// Makes a type the part that a crate has in each machine: `part()` finds that of this thread's machine, by one load
/// from the thread's own memory; `enter` sets it, for [`Machine::enter_parts`](threads::Machine::enter_parts).
#[macro_export]
macro_rules! part_of_machine {
    ($Part:ty) => {
        thread_local! {
            static PART: std::cell::Cell<Option<&'static $Part>> = const { std::cell::Cell::new(None) };
        }

        /// This thread's machine has this part.
        pub fn enter(part: &'static $Part) {
            PART.set(Some(part));
        }

        /// That of this thread's machine.
        #[inline(always)]
        pub fn part() -> &'static $Part {
            match PART.get() {
                Some(part) => part,
                None => $crate::threads::outside(),
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbered(u32);

    thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(0) };
    }

    impl Machine for Numbered {
        fn enter_parts(&'static self) {
            NUMBER.set(self.0);
        }
    }

    fn joined<T>(thread: JoinHandle<T>) -> T {
        thread.join().expect("the thread does not panic")
    }

    #[test]
    fn a_thread_belongs_to_the_machine_of_the_thread_that_started_it() {
        static MACHINES: [Numbered; 2] = [Numbered(1), Numbered(2)];
        for machine in &MACHINES {
            let thread = std::thread::spawn(|| {
                assert!(super::machine().is_none());
                enter(machine);
                enter(machine);
                start(Builder::new(), || NUMBER.get()).map(joined).expect("a thread")
            });
            assert_eq!(joined(thread), machine.0);
        }
        assert_eq!(NUMBER.get(), 0);
    }

    #[test]
    fn a_thread_cannot_go_from_one_machine_to_another() {
        static MACHINES: [Numbered; 2] = [Numbered(3), Numbered(4)];
        let thread = std::thread::spawn(|| {
            enter(&MACHINES[0]);
            enter(&MACHINES[1]);
        });
        assert!(thread.join().is_err());
    }
}
