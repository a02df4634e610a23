//! Chooses the messages that are reported for processes whose sending or receiving is traced:
//! `trace_pattern(send | 'receive', ...)`.

use parking_lot::RwLock;
use std::sync::Arc;

use atoll_process::tracing::{self, SEND};
use atoll_process::{Caller, Own};
use atoll_term::{Term, atoms};

use crate::trace_call;
use crate::trace_points::Pattern;

/// The choices of a machine for what is sent, and for what is received: nothing stands for no message; a choice that
/// was not made for all.
#[derive(Default)]
pub struct Choices(RwLock<[Option<Option<Arc<Pattern>>>; 2]>);

atoll_platform::part_of_machine!(Choices);

/// Sets which messages are reported: those that the pattern accepts, or none.
pub fn set(caller: &mut Caller<'_>, is_send: bool, choice: Option<Arc<Pattern>>) {
    tracing::install_choice(choose);
    let is_all = choice.as_ref().is_some_and(|pattern| pattern.0.is_none());
    let names_senders = {
        let mut choices = part().0.write();
        choices[usize::from(is_send)] = if is_all { None } else { Some(choice) };
        tracing::choose_messages(choices.iter().any(Option::is_some));
        matches!(choices[0], Some(Some(_)))
    };
    tracing::name_senders(caller.own, names_senders);
}

/// What was set, as `trace_info(send | 'receive', match_spec)` shows it.
pub fn shown(caller: &mut Caller<'_>, is_send: bool) -> Term {
    let choice = part().0.read()[usize::from(is_send)].clone();
    match choice {
        None => atoms::TRUE,
        Some(None) => atoms::FALSE,
        Some(Some(pattern)) => match &pattern.0 {
            Some(kept) => crate::copy::copy(*kept.specification(), caller.heap()),
            None => atoms::TRUE,
        },
    }
}

fn choose(pid: Term, own: &mut Own, which: u32, parts: &[Term]) -> Option<Option<Term>> {
    let is_send = which & SEND != 0;
    let choice = part().0.read()[usize::from(is_send)].clone();
    let Some(choice) = choice else { return Some(None) };
    let pattern = choice?;
    match (is_send, parts) {
        (true, &[message, receiver]) => trace_call::chosen(pid, own, &pattern, &[receiver, message]),
        (false, &[message, from]) => {
            let sender = match from.is_atom() && from != atoms::UNDEFINED {
                true => [from, atoms::UNDEFINED],
                false => [crate::node::this(), from],
            };
            trace_call::chosen(pid, own, &pattern, &[sender[0], sender[1], message])
        }
        _ => Some(None),
    }
}
