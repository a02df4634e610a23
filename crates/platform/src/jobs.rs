//! Jobs for threads that are started when they are needed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

/// How often a thread without a job looks for the next one before it sleeps: some ten microseconds. To wake it takes as
/// long, and as long again until the one that waits for its result is woken.
const LOOKS: u32 = 300;

/// Jobs that wait for a thread.
pub struct Jobs<J> {
    state: Mutex<State<J>>,
    more: Condvar,
    /// Jobs that wait, to look without the lock. Changed under it.
    waiting: AtomicUsize,
}

struct State<J> {
    waiting: VecDeque<J>,
    threads: usize,
    /// Threads that look for a job, or sleep.
    idle: usize,
    /// How often all have been called.
    calls: u64,
}

impl<J> Default for Jobs<J> {
    fn default() -> Jobs<J> {
        Jobs::new()
    }
}

impl<J> Jobs<J> {
    /// No jobs, and no threads.
    pub const fn new() -> Jobs<J> {
        let state = State { waiting: VecDeque::new(), threads: 0, idle: 0, calls: 0 };
        Jobs { state: Mutex::new(state), more: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    /// Adds a job. If no thread is idle, and there are less than `most`, `start` starts one with this number, which
    /// calls [`Jobs::next`] for ever; it says whether there is one now. The job comes back if there is no thread at
    /// all.
    #[must_use]
    pub fn add(&self, job: J, most: usize, start: impl FnOnce(usize) -> bool) -> Option<J> {
        let mut state = self.state.lock();
        state.waiting.push_back(job);
        if state.idle >= state.waiting.len() {
            self.more.notify_one();
        } else if state.threads < most {
            let number = state.threads;
            state.threads += usize::from(start(number));
            if state.threads == 0 {
                return state.waiting.pop_back();
            }
        }
        self.waiting.store(state.waiting.len(), Ordering::Release);
        None
    }

    /// Has [`Jobs::next_or_call`] return once more on each thread.
    pub fn call_all(&self) {
        self.state.lock().calls += 1;
        self.more.notify_all();
    }

    /// The next job, for one of the threads; waits for it.
    pub fn next(&self) -> J {
        // Calls are nothing to this thread.
        let mut calls = u64::MAX;
        loop {
            if let Some(job) = self.next_or_call(&mut calls) {
                return job;
            }
        }
    }

    /// The next job, for one of the threads; waits for it, or until [`Jobs::call_all`] has been called since `calls`
    /// was set here.
    pub fn next_or_call(&self, calls: &mut u64) -> Option<J> {
        let mut state = self.state.lock();
        if *calls != u64::MAX && *calls != state.calls {
            *calls = state.calls;
            return None;
        }
        if let Some(job) = self.take(&mut state) {
            return Some(job);
        }
        state.idle += 1;
        drop(state);
        let mut looks = 0;
        while looks < LOOKS && self.waiting.load(Ordering::Acquire) == 0 {
            looks += 1;
            std::hint::spin_loop();
        }
        let mut state = self.state.lock();
        loop {
            if let Some(job) = self.take(&mut state) {
                state.idle -= 1;
                return Some(job);
            }
            if *calls != u64::MAX && *calls != state.calls {
                state.idle -= 1;
                *calls = state.calls;
                return None;
            }
            self.more.wait(&mut state);
        }
    }

    fn take(&self, state: &mut State<J>) -> Option<J> {
        let job = state.waiting.pop_front();
        self.waiting.store(state.waiting.len(), Ordering::Release);
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    #[test]
    fn jobs_are_done_in_turn_by_no_more_threads_than_there_may_be() {
        let (jobs, (tell, told)) = (Arc::new(Jobs::new()), channel());
        let mut threads = Vec::new();
        for job in 0..1000 {
            let refused = jobs.add(Some(job), 2, |number| {
                let (jobs, tell) = (jobs.clone(), tell.clone());
                threads.push(std::thread::spawn(move || {
                    while let Some(job) = jobs.next() {
                        tell.send((number, job)).unwrap();
                    }
                }));
                true
            });
            assert!(refused.is_none());
        }
        let mut done: Vec<(usize, u32)> = told.iter().take(1000).collect();
        for thread in [0, 1] {
            let own: Vec<u32> = done.iter().filter(|(number, _)| *number == thread).map(|(_, job)| *job).collect();
            assert!(own.is_sorted());
        }
        done.sort_by_key(|(_, job)| *job);
        assert!(done.iter().map(|(_, job)| *job).eq(0..1000));
        assert!(threads.len() <= 2);
        threads.iter().for_each(|_| assert!(jobs.add(None, 0, |_| false).is_none()));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn a_job_comes_back_when_there_is_no_thread() {
        let jobs = Jobs::new();
        assert_eq!(jobs.add(7, 2, |_| false), Some(7));
        assert_eq!(jobs.add(8, 2, |number| number == 0), None);
        assert_eq!(jobs.next(), 8);
    }
}
