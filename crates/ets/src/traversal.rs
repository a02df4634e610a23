//! Traversals of tables: `match`, `select` and their like.

use std::ops::Bound;

use atoll_heap::{Mutator, Stored};
use atoll_operations::list;
use atoll_term::{Term, compare, exactly_equal};
use smallvec::{SmallVec, smallvec};

use crate::fault::Fault;
use crate::match_spec::{Matcher, Object, keeps_key};
use crate::ordered::{Place, Span};
use crate::partial::{PartialKey, is_open};
use crate::segment::key_of;
use crate::table::{Rows, Table};

/// What becomes of a row.
pub(crate) enum Fate {
    /// It stays.
    Keep,
    /// It goes.
    Delete,
    /// This one, with the same key, takes its place.
    Replace(Stored),
}

type Keys = SmallVec<[Term; 4]>;

/// Which rows a specification can match at all, as far as its patterns' keys say.
enum Plan {
    /// Those with these keys, in order where the table has one.
    Keys(Keys),
    /// Those in a run of keys.
    Run(PartialKey),
    /// All.
    All,
}

/// What a pattern says of the key.
enum Pattern {
    Nothing,
    Key(Term),
    Partial(Term),
    Any,
}

fn pattern_of(head: Term, position: usize) -> Pattern {
    if head.is_atom() && is_open(head) {
        return Pattern::Any;
    }
    let key = key_of(head, position);
    if key.is_none() {
        return Pattern::Nothing;
    }
    if key.is_atom() && is_open(key) || key.is_map() {
        return Pattern::Any;
    }
    if is_bound(key) { Pattern::Key(key) } else { Pattern::Partial(key) }
}

/// Whether a pattern matches one term only, or terms equal to it.
fn is_bound(pattern: Term) -> bool {
    let mut pending: SmallVec<[Term; 16]> = smallvec![pattern];
    while let Some(term) = pending.pop() {
        if term.is_map() || term.is_atom() && is_open(term) {
            return false;
        }
        if term.is_cons() {
            pending.extend([term.tail(), term.head()]);
        } else if let Some(elements) = term.tuple_elements() {
            pending.extend(elements.iter().copied());
        }
    }
    true
}

fn plan(specification: Term, table: &Table) -> Plan {
    let heads = list::heads(specification).filter_map(|clause| clause.tuple_elements()?.first().copied());
    let patterns = heads.map(|head| pattern_of(head, table.position())).filter(|one| !matches!(one, Pattern::Nothing));
    let patterns: SmallVec<[Pattern; 4]> = patterns.collect();
    let is_ordered = matches!(table.rows, Rows::Ordered(_));
    if let ([Pattern::Partial(pattern)], true) = (&*patterns, is_ordered) {
        return Plan::Run(PartialKey(*pattern));
    }
    let mut keys = Keys::with_capacity(patterns.len());
    for pattern in patterns {
        let Pattern::Key(key) = pattern else { return Plan::All };
        keys.push(key);
    }
    if is_ordered {
        keys.sort_by(|one, other| compare(*one, *other));
        keys.dedup_by(|one, other| compare(*one, *other).is_eq());
    } else {
        let mut different = Keys::with_capacity(keys.len());
        for key in keys {
            if !different.iter().any(|other| exactly_equal(*other, key)) {
                different.push(key);
            }
        }
        keys = different;
    }
    Plan::Keys(keys)
}

impl Plan {
    fn span(&self) -> Span {
        match self {
            Plan::Run(pattern) => {
                Span { from: Bound::Included(Place::Before(*pattern)), to: Bound::Included(Place::Behind(*pattern)) }
            }
            _ => Span::ALL,
        }
    }
}

/// Where a traversal in portions goes on.
#[derive(Clone, Copy, Debug)]
pub enum Cursor {
    /// Behind the keys with this hash.
    Hash(u32),
    /// Behind this key (before it, backwards).
    Key(Term),
}

/// A portion of the results.
pub struct Portion {
    /// The results.
    pub results: Vec<Term>,
    /// Where to go on; `None` at the end.
    pub next: Option<Cursor>,
    /// Rows looked at.
    pub visited: usize,
}

impl Table {
    /// Runs a specification on the rows that it can match. Returns what `accept` makes of them.
    fn visit(&self, specification: Term, backwards: bool, mut accept: impl FnMut(&Stored)) -> usize {
        let mut visited = 0;
        let mut all = |rows: &[Stored]| {
            visited += rows.len();
            rows.iter().for_each(&mut accept);
        };
        match (plan(specification, self), &self.rows) {
            (Plan::Keys(mut keys), rows) => {
                if backwards {
                    keys.reverse();
                }
                for key in keys {
                    match rows {
                        Rows::Hashed(rows) => rows.with_key(key, &mut all),
                        Rows::Ordered(rows) => rows.with_key(key, &mut all),
                    }
                }
            }
            (_, Rows::Hashed(rows)) => {
                rows.scan(None, |rows| {
                    all(rows);
                    true
                });
            }
            (plan, Rows::Ordered(rows)) => rows.scan(&plan.span(), backwards, |row| {
                all(std::slice::from_ref(row));
                true
            }),
        }
        visited
    }

    /// `select`: the results for all rows, in the table's order.
    pub fn select(
        &self,
        heap: &mut Mutator,
        specification: Term,
        matcher: &mut Matcher<'_>,
        backwards: bool,
    ) -> Portion {
        let mut results = Vec::new();
        let visited = self.visit(specification, backwards, |row| {
            results.extend(matcher.run(heap, Object::Stored(row)));
        });
        Portion { results, next: None, visited }
    }

    /// A portion of `select`: at least `limit` results, if there are as many; more only where rows share a hash.
    pub fn select_portion(
        &self,
        heap: &mut Mutator,
        specification: Term,
        matcher: &mut Matcher<'_>,
        backwards: bool,
        after: Option<Cursor>,
        limit: usize,
    ) -> Portion {
        let plan = plan(specification, self);
        let mut portion = Portion { results: Vec::new(), next: None, visited: 0 };
        match &self.rows {
            Rows::Hashed(_) if matches!(plan, Plan::Keys(_)) => {
                return self.select(heap, specification, matcher, backwards);
            }
            Rows::Hashed(rows) => {
                let from = match after {
                    Some(Cursor::Hash(hash)) => Some(hash),
                    _ => None,
                };
                let next = rows.scan(from, |rows| {
                    portion.visited += rows.len();
                    portion.results.extend(rows.iter().filter_map(|row| matcher.run(heap, Object::Stored(row))));
                    portion.results.len() < limit
                });
                portion.next = next.map(Cursor::Hash);
            }
            Rows::Ordered(rows) => {
                if let Plan::Keys(keys) = &plan
                    && keys.len() < 2
                {
                    return self.select(heap, specification, matcher, backwards);
                }
                let mut span = plan.span();
                if let Some(Cursor::Key(key)) = after {
                    let bound = Bound::Excluded(Place::Key(key));
                    if backwards { span.to = bound } else { span.from = bound }
                }
                rows.scan(&span, backwards, |row| {
                    portion.visited += 1;
                    portion.results.extend(matcher.run(heap, Object::Stored(row)));
                    if portion.results.len() < limit {
                        return true;
                    }
                    let key = row.fetch_part(heap, key_of(*row.term(), self.position()));
                    portion.next = Some(Cursor::Key(key));
                    false
                });
            }
        }
        portion
    }

    /// `select_count`: for how many rows the result is `true`. Second: rows looked at.
    pub fn select_count(&self, heap: &mut Mutator, specification: Term, matcher: &mut Matcher<'_>) -> (usize, usize) {
        let mut count = 0;
        let visited = self.visit(specification, false, |row| {
            count += usize::from(matcher.is_true(heap, Object::Stored(row)));
        });
        (count, visited)
    }

    fn change(&self, specification: Term, decide: &mut dyn FnMut(&Stored) -> Fate) {
        let gone = match (plan(specification, self), &self.rows) {
            (Plan::Keys(keys), Rows::Hashed(rows)) => {
                keys.into_iter().flat_map(|key| rows.change_key(&self.status, key, decide)).collect()
            }
            (_, Rows::Hashed(rows)) => rows.change_all(&self.status, decide),
            (Plan::Keys(keys), Rows::Ordered(rows)) => {
                let mut gone = Vec::new();
                for key in keys {
                    let place = Bound::Included(Place::Key(key));
                    gone.extend(rows.change(&Span { from: place, to: place }, decide));
                }
                gone
            }
            (plan, Rows::Ordered(rows)) => rows.change(&plan.span(), decide),
        };
        drop(gone);
    }

    /// `select_delete`: takes out the rows for which the result is `true`. How many, and how many were looked at.
    pub fn select_delete(&self, heap: &mut Mutator, specification: Term, matcher: &mut Matcher<'_>) -> (usize, usize) {
        let (mut count, mut visited) = (0, 0);
        self.change(specification, &mut |row| {
            visited += 1;
            if !matcher.is_true(heap, Object::Stored(row)) {
                return Fate::Keep;
            }
            count += 1;
            Fate::Delete
        });
        (count, visited)
    }

    /// `select_replace`: puts the results in the places of the rows. How many, and how many were looked at.
    ///
    /// # Errors
    /// [`Fault::TableType`]: a bag; [`Fault::Argument`]: the results may have other keys than the rows
    pub fn select_replace(
        &self,
        heap: &mut Mutator,
        specification: Term,
        matcher: &mut Matcher<'_>,
    ) -> Result<(usize, usize), Fault> {
        if !keeps_key(specification, self.position()) {
            return Err(Fault::Argument);
        }
        let (mut count, mut visited) = (0, 0);
        self.change(specification, &mut |row| {
            visited += 1;
            let Some(new) = matcher.run(heap, Object::Stored(row)) else { return Fate::Keep };
            let (key, new_key) = (key_of(*row.term(), self.position()), key_of(new, self.position()));
            if new_key.is_none() || !exactly_equal(key, new_key) {
                return Fate::Keep;
            }
            count += 1;
            Fate::Replace(Stored::new(heap, new))
        });
        Ok((count, visited))
    }
}
