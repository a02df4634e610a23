//! What a process shows of itself: the items of `process_info`.

use std::sync::Arc;

use atoll_code::{Files, Frame, frame_of, is_same_place, shown_stack_depth};
use atoll_heap::{HeapSizes, architecture};
use atoll_operations::list;
use atoll_process::remote::{Remote, RemoteMonitor, RemotePid, RemoteWatcher};
use atoll_process::{Own, Process, ReferenceId, System, inspect};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::text::to_string;
use atoll_term::{Build, Export, MagicValue, Term, atoms};

use crate::binary_info::BinaryInfo;
use crate::heap_settings::{BINARY_HEAP_WORDS, heap_limit_map};

/// Items of `process_info/1`, in its order.
pub(crate) const STANDARD_ITEMS: [Term; 17] = [
    atoms::REGISTERED_NAME,
    atoms::CURRENT_FUNCTION,
    atoms::INITIAL_CALL,
    atoms::STATUS,
    atoms::MESSAGE_QUEUE_LEN,
    atoms::LINKS,
    atoms::DICTIONARY,
    atoms::TRAP_EXIT,
    atoms::ERROR_HANDLER,
    atoms::PRIORITY,
    atoms::GROUP_LEADER,
    atoms::TOTAL_HEAP_SIZE,
    atoms::HEAP_SIZE,
    atoms::STACK_SIZE,
    atoms::REDUCTIONS,
    atoms::GARBAGE_COLLECTION,
    atoms::SUSPENDING,
];

/// Whether a process can be asked for this.
pub(crate) fn is_item(item: Term) -> bool {
    STANDARD_ITEMS.contains(&item)
        || matches!(
            item,
            atoms::MESSAGES
                | atoms::MONITORS
                | atoms::MONITORED_BY
                | atoms::MEMORY
                | atoms::CURRENT_LOCATION
                | atoms::CURRENT_STACKTRACE
                | atoms::BACKTRACE
                | atoms::MESSAGE_QUEUE_DATA
                | atoms::MIN_HEAP_SIZE
                | atoms::MIN_BIN_VHEAP_SIZE
                | atoms::MAX_HEAP_SIZE
                | atoms::FULLSWEEP_AFTER
                | atoms::CATCHLEVEL
                | atoms::PARENT
                | atoms::TRACE
                | atoms::LAST_CALLS
                | atoms::SEQUENTIAL_TRACE_TOKEN
                | atoms::GARBAGE_COLLECTION_INFO
                | atoms::BINARY
        )
        || item == MAGIC_REFERENCES.get()
}

static MAGIC_REFERENCES: LazyAtom = LazyAtom::new("magic_ref");

/// Reductions of a time slice, of which a running process has counted down some.
pub(crate) const SLICE: i64 = 4_000;
/// Bytes that a process takes beside its heap, as far as `memory` is concerned.
const DESCRIPTOR_BYTES: usize = size_of::<Process>();

/// Who monitors a process.
pub(crate) struct Watchers {
    processes: Vec<Term>,
    remote: Vec<RemoteWatcher>,
    resources: Vec<(ReferenceId, Arc<MagicValue>)>,
    ports: Vec<Term>,
}

impl Watchers {
    /// Those of this process.
    pub(crate) fn of(process: &Process, own: &Own) -> Watchers {
        let rare = own.rare.as_ref();
        let mut monitors: Vec<_> =
            rare.iter().flat_map(|rare| &rare.monitored_by).map(|(id, one)| (*id, one.watcher)).collect();
        monitors.sort_by_key(|(id, _)| *id);
        let remote = rare.and_then(|rare| rare.remote.as_ref());
        let libraries = System::get().libraries.get();
        Watchers {
            processes: monitors.into_iter().map(|(_, watcher)| watcher).collect(),
            remote: remote.map(|remote| remote.monitored_by.values().copied().collect()).unwrap_or_default(),
            resources: libraries.map(|libraries| libraries.monitors_of(process.pid)).unwrap_or_default(),
            ports: libraries.map(|libraries| libraries.ports_monitoring(process.pid)).unwrap_or_default(),
        }
    }

    /// A list of their pids, references and ports.
    pub(crate) fn term(&self, heap: &mut impl Build) -> Term {
        let remote: Vec<Term> = self.remote.iter().map(|one| one.watcher.term(heap)).collect();
        let references: Vec<Term> = self
            .resources
            .iter()
            .map(|(reference, resource)| heap.magic_reference(reference.0, resource.clone()))
            .collect();
        let all = [&self.processes, &remote, &references, &self.ports];
        heap.list(all.into_iter().flatten().copied().collect::<Vec<Term>>())
    }
}

/// The function of a native library that another thread carries out for a process.
pub(crate) fn carried_out(own: &Own) -> Option<&'static Export> {
    System::get().libraries.get()?.carried_out(&own.saved)
}

/// The process that is described, and as what.
pub(crate) struct Subject<'s> {
    pub(crate) process: &'s Process,
    pub(crate) own: &'s mut Own,
    pub(crate) status: Term,
    /// Reductions left of the present slice, if it runs.
    pub(crate) running: Option<i64>,
    /// Its heap before the answer was built there.
    pub(crate) sizes: HeapSizes,
}

impl Subject<'_> {
    /// The answer for an item, a list of items, or the standard items (behind the mark `all`).
    pub(crate) fn items(mut self, items: Term) -> Option<Term> {
        if !items.is_list() {
            let value = self.value(items)?;
            if items == atoms::REGISTERED_NAME && value.is_nil() {
                return Some(value);
            }
            return Some(self.own.mutator.tuple(&[items, value]));
        }
        let mut wanted = list::elements(items)?;
        let standard = wanted.first() == Some(&atoms::ALL);
        if standard {
            wanted.remove(0);
        }
        let mut pairs = Vec::with_capacity(wanted.len());
        for item in wanted {
            let value = self.value(item)?;
            if standard && item == atoms::REGISTERED_NAME && value.is_nil() {
                continue;
            }
            pairs.push(self.own.mutator.tuple(&[item, value]));
        }
        Some(self.own.mutator.list(pairs))
    }

    /// The value of an item.
    pub(crate) fn value(&mut self, item: Term) -> Option<Term> {
        let small = |number: usize| Term::small(number as i64);
        let hibernating = self.own.flags.hibernating();
        // What answers left on the heap of one that hibernates is not its own, nor is the room where they are built.
        let sizes = if hibernating {
            HeapSizes { fragments: 0, ..self.sizes }
        } else {
            architecture().sizes(&self.own.mutator)
        };
        let options = architecture().options(&self.own.mutator);
        let united = architecture().stack_placement() == atoll_heap::StackPlacement::United;
        let young = if hibernating { sizes.young_used } else { sizes.young_block };
        let block = young + if united { sizes.stack } else { 0 };
        let value = match item {
            atoms::REGISTERED_NAME => System::get().name_of(self.process).unwrap_or(Term::NIL),
            atoms::STATUS => self.status,
            atoms::TRAP_EXIT => Term::boolean(self.own.flags.trap_exit()),
            atoms::PRIORITY => self.process.priority().atom(),
            atoms::GROUP_LEADER => self.own.leader_term(),
            atoms::MESSAGE_QUEUE_LEN => small(self.own.mailbox.len()),
            atoms::ERROR_HANDLER => self
                .own
                .rare
                .as_ref()
                .and_then(|rare| rare.error_handler)
                .unwrap_or_else(|| known_atom("error_handler")),
            atoms::TOTAL_HEAP_SIZE => {
                let messages = if self.own.flags.off_heap_messages() { 0 } else { self.message_words() };
                small(block + sizes.old_block + sizes.fragments + messages)
            }
            atoms::HEAP_SIZE => small(block),
            atoms::STACK_SIZE => small(sizes.stack),
            atoms::MEMORY => {
                small((block + sizes.old_block + sizes.fragments + self.message_words()) * 8 + DESCRIPTOR_BYTES)
            }
            atoms::REDUCTIONS => {
                let now = self.running.map_or(0, |left| SLICE - left);
                Term::small(self.own.reductions + now)
            }
            atoms::MIN_HEAP_SIZE => small(options.minimum_words),
            atoms::MIN_BIN_VHEAP_SIZE => Term::small(self.binary_heap_words()),
            atoms::MAX_HEAP_SIZE => self.heap_limit(),
            atoms::FULLSWEEP_AFTER => Term::small(options.full_sweep_after.into()),
            atoms::MESSAGE_QUEUE_DATA if self.own.flags.off_heap_messages() => atoms::OFF_HEAP,
            atoms::MESSAGE_QUEUE_DATA => atoms::ON_HEAP,
            atoms::CATCHLEVEL => Term::small(self.own.catches.into()),
            atoms::PARENT if self.own.parent.is_none() => self.remote_parent(),
            atoms::PARENT => self.own.parent,
            atoms::TRACE => Term::small(0),
            atoms::SEQUENTIAL_TRACE_TOKEN => self.own.token_term(),
            atoms::LAST_CALLS => {
                let saved = self.own.rare.as_ref().map_or(0, |rare| rare.save_calls);
                if saved == 0 { atoms::FALSE } else { Term::NIL }
            }
            atoms::GARBAGE_COLLECTION => self.collection_settings(),
            atoms::GARBAGE_COLLECTION_INFO => self.collection_info(block),
            _ => return self.list_value(item),
        };
        Some(value)
    }

    fn list_value(&mut self, item: Term) -> Option<Term> {
        let value = match item {
            atoms::DICTIONARY | atoms::MESSAGES if self.own.flags.sensitive() => Term::NIL,
            atoms::BACKTRACE if self.own.flags.sensitive() => self.own.mutator.binary(&[]),
            atoms::LINKS => {
                let links = self.own.rare.as_ref().map(|rare| rare.links.as_slice().to_vec());
                let mut links = links.unwrap_or_default();
                let remote: Vec<RemotePid> = self.remote().map(|remote| remote.linked().collect()).unwrap_or_default();
                links.extend(remote.into_iter().map(|pid| pid.term(&mut self.own.mutator)));
                links.sort_by(|a, b| atoll_term::compare(*a, *b));
                self.own.mutator.list(links)
            }
            atoms::SUSPENDING => self.suspending(),
            atoms::MONITORS => self.monitors(),
            atoms::MONITORED_BY => Watchers::of(self.process, self.own).term(&mut self.own.mutator),
            atoms::DICTIONARY => {
                let entries = self.own.rare.as_ref().map(|rare| rare.dictionary.entries().to_vec()).unwrap_or_default();
                let heap = &mut self.own.mutator;
                let pairs: Vec<Term> = entries.iter().map(|(key, value)| heap.tuple(&[*key, *value])).collect();
                heap.list(pairs)
            }
            atoms::MESSAGES => {
                let messages = inspect::messages(self.own);
                self.own.mutator.list(messages)
            }
            atoms::BINARY => self.binaries(),
            atoms::INITIAL_CALL => match self.own.initial_call {
                Some(export) => {
                    let arity = Term::small(export.arity.into());
                    self.own.mutator.tuple(&[export.module, export.name, arity])
                }
                None => atoms::UNDEFINED,
            },
            atoms::CURRENT_FUNCTION => match self.places(1).first() {
                Some(place) => self.own.mutator.tuple(&[place.module, place.name, Term::small(place.arity.into())]),
                None => atoms::UNDEFINED,
            },
            atoms::CURRENT_LOCATION => match self.places(1).first() {
                Some(place) => place_term(&mut self.own.mutator, place, &mut Files::default()),
                None => atoms::UNDEFINED,
            },
            atoms::CURRENT_STACKTRACE => {
                let places = if self.own.flags.hibernating() { Vec::new() } else { self.places(shown_stack_depth()) };
                let heap = &mut self.own.mutator;
                let mut files = Files::default();
                let terms: Vec<Term> = places.iter().map(|place| place_term(heap, place, &mut files)).collect();
                heap.list(terms)
            }
            atoms::BACKTRACE => self.backtrace(),
            _ if item == MAGIC_REFERENCES.get() => Term::NIL,
            _ => return None,
        };
        Some(value)
    }

    /// Words of messages that are not part of the heap.
    fn message_words(&self) -> usize {
        let mut words = 0;
        self.own.mailbox.each(|message| words += message.used());
        words
    }

    fn heap_limit(&mut self) -> Term {
        let words = architecture().options(&self.own.mutator).maximum_words;
        let flags = self.own.flags;
        heap_limit_map(&mut self.own.mutator, words, flags.heap_limit_spares(), flags.quiet_heap_limit())
    }

    fn collection_settings(&mut self) -> Term {
        let options = architecture().options(&self.own.mutator);
        let minor = architecture().sizes(&self.own.mutator).minor_collections.unwrap_or(0);
        let pairs = [
            (atoms::MAX_HEAP_SIZE, self.heap_limit()),
            (atoms::MIN_BIN_VHEAP_SIZE, Term::small(self.binary_heap_words())),
            (atoms::MIN_HEAP_SIZE, Term::small(options.minimum_words as i64)),
            (atoms::FULLSWEEP_AFTER, Term::small(options.full_sweep_after.into())),
            (known_atom("minor_gcs"), Term::small(minor as i64)),
        ];
        pairs_list(&mut self.own.mutator, &pairs)
    }

    fn collection_info(&mut self, block: usize) -> Term {
        let sizes = architecture().sizes(&self.own.mutator);
        let pairs = [
            ("old_heap_block_size", sizes.old_block as i64),
            ("heap_block_size", block as i64),
            ("mbuf_size", sizes.fragments as i64),
            ("recent_size", 0),
            ("stack_size", sizes.stack as i64),
            ("old_heap_size", sizes.old_used as i64),
            ("heap_size", sizes.young_used as i64),
            ("bin_vheap_size", 0),
            ("bin_vheap_block_size", BINARY_HEAP_WORDS),
            ("bin_old_vheap_size", 0),
            ("bin_old_vheap_block_size", BINARY_HEAP_WORDS),
        ];
        let pairs = pairs.map(|(key, value)| (known_atom(key), Term::small(value)));
        pairs_list(&mut self.own.mutator, &pairs)
    }

    /// `[{Pid, ActiveCount, OutstandingCount}]`
    fn suspending(&mut self) -> Term {
        let suspending = self.own.rare.as_ref().map(|rare| rare.suspending.clone()).unwrap_or_default();
        let mut counts: Vec<(Term, i64)> = Vec::new();
        for pid in suspending {
            match counts.iter_mut().find(|(other, _)| *other == pid) {
                Some((_, count)) => *count += 1,
                None => counts.push((pid, 1)),
            }
        }
        let heap = &mut self.own.mutator;
        let terms: Vec<Term> =
            counts.iter().map(|(pid, count)| heap.tuple(&[*pid, Term::small(*count), Term::small(0)])).collect();
        heap.list(terms)
    }

    /// `min_bin_vheap_size`
    fn binary_heap_words(&self) -> i64 {
        let asked_for = self.own.rare.as_ref().and_then(|rare| rare.binary_heap_words);
        asked_for.map_or(BINARY_HEAP_WORDS, |words| words as i64)
    }

    fn remote(&self) -> Option<&Remote> {
        self.own.rare.as_ref()?.remote.as_deref()
    }

    fn remote_parent(&mut self) -> Term {
        match self.remote().and_then(|remote| remote.parent) {
            Some(parent) => parent.term(&mut self.own.mutator),
            None => atoms::UNDEFINED,
        }
    }

    fn monitors(&mut self) -> Term {
        let remote = self.remote().map(|remote| remote.monitoring.values().copied().collect());
        let remote: Vec<RemoteMonitor> = remote.unwrap_or_default();
        let rare = self.own.rare.as_ref();
        let mut monitors: Vec<_> = rare.iter().flat_map(|rare| &rare.monitoring).map(|(id, one)| (*id, *one)).collect();
        monitors.sort_by_key(|(id, _)| *id);
        let heap = &mut self.own.mutator;
        let mut terms = Vec::with_capacity(monitors.len());
        for monitor in remote {
            let object = monitor.target.term(heap);
            terms.push(heap.tuple(&[atoms::PROCESS, object]));
        }
        for (_, monitor) in monitors {
            let object =
                if monitor.name.is_none() { monitor.target } else { heap.tuple(&[monitor.name, crate::node::this()]) };
            let kind = if monitor.target.is_local_port() { atoms::PORT } else { atoms::PROCESS };
            if !object.is_none() {
                terms.push(heap.tuple(&[kind, object]));
            }
        }
        heap.list(terms)
    }

    /// The binaries outside of the heap.
    fn binaries(&mut self) -> Term {
        let mut found = Vec::new();
        self.own.mutator.each_off_heap_binary(&mut |binary| found.push(BinaryInfo::new(binary)));
        BinaryInfo::list(&mut self.own.mutator, &found)
    }

    /// Where the process is, innermost first.
    fn places(&self, depth: usize) -> Vec<Frame> {
        let mut places = Vec::new();
        if self.running.is_none() {
            if self.own.flags.hibernating() {
                return vec![Frame { module: atoms::ERLANG, name: atoms::HIBERNATE, arity: 3, location: None }];
            }
            // The instruction to go on with; the frame is that of the word before the given address.
            places.extend(match carried_out(self.own) {
                Some(&Export { module, name, arity, .. }) => Some(Frame { module, name, arity, location: None }),
                None => frame_of(self.own.address.wrapping_add(1)),
            });
            if places.is_empty()
                && let [module, name, arguments] = self.own.saved[..]
                && module.is_atom()
                && name.is_atom()
            {
                let arity = list::elements(arguments).map_or(0, |list| list.len() as u8);
                places.push(Frame { module, name, arity, location: None });
            }
        }
        let mut stack = inspect::return_addresses(self.own, 2 * (depth + 1));
        stack.dedup_by(|later, earlier| is_same_place(*later, *earlier));
        places.extend(stack.into_iter().filter_map(frame_of));
        places.truncate(depth);
        places
    }

    fn backtrace(&mut self) -> Term {
        let text = shown(self.places(usize::from(u16::MAX)));
        self.own.mutator.binary(text.as_bytes())
    }
}

/// A line for each place.
fn shown(places: impl IntoIterator<Item = Frame>) -> String {
    let line = |place: Frame| {
        let (module, name) = (to_string(place.module), to_string(place.name));
        format!("Return addr ({module}:{name}/{})\n", place.arity)
    };
    places.into_iter().map(line).collect()
}

/// A binary that shows what functions the process that runs is in.
pub fn stack_shown(own: &mut Own) -> Term {
    let stack = inspect::return_addresses(own, usize::from(u16::MAX));
    let text = shown(stack.into_iter().filter_map(frame_of));
    own.mutator.binary(text.as_bytes())
}

fn place_term(heap: &mut atoll_heap::Mutator, place: &Frame, files: &mut Files) -> Term {
    let location = place.location_term(heap, files);
    heap.tuple(&[place.module, place.name, Term::small(place.arity.into()), location])
}

fn pairs_list(heap: &mut atoll_heap::Mutator, pairs: &[(Term, Term)]) -> Term {
    let terms: Vec<Term> = pairs.iter().map(|(key, value)| heap.tuple(&[*key, *value])).collect();
    heap.list(terms)
}
