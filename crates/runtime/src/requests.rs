//! Requests to a process that it answers itself, by a function that the machine installs.

use atoll_process::handle::Request;
use atoll_process::{Own, Process};

use crate::part::part;

/// Carries out a request and replies.
pub type Answer = fn(&Process, &mut Own, Request);

/// Carries out a request.
pub fn answer(process: &Process, own: &mut Own, request: Request) {
    (part().answer)(process, own, request);
}
