//! Requests to a process that it answers itself, by a function that the machine installs.

use std::sync::OnceLock;

use atoll_process::handle::Request;
use atoll_process::{Own, Process};

/// Carries out a request and replies.
pub type Answer = fn(&Process, &mut Own, Request);

static ANSWER: OnceLock<Answer> = OnceLock::new();

/// Installs the function that answers; only the first call counts.
pub fn install(answer: Answer) {
    let _ = ANSWER.set(answer);
}

/// Carries out a request.
pub fn answer(process: &Process, own: &mut Own, request: Request) {
    if let Some(answer) = ANSWER.get() {
        answer(process, own, request);
    }
}
