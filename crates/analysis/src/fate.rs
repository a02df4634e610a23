//! The lattice: what becomes of an object from some point of the code on.
//!
//! A [`Fate`] has two halves. The upper level (`top`) is of the object itself and, if it is a list, of all cells that
//! its tails lead to. The lower level (`parts`) is of everything else that can be reached from it. Each half says:
//!
//! * by which ways it may leave the process (a set that grows by union);
//! * whether it certainly leaves the process on each path that ends without an exception.
//!
//! Both may depend on what the function's caller does with the result; three symbols stand for that, so one analysis
//! of a function serves all its callers.

/// The ways by which an object may leave its process, or the analysis' sight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ways(u16);

impl Ways {
    /// In a message.
    pub const SENT: Ways = Ways(1 << 0);
    /// As an argument of a new process, or in its fun.
    pub const SPAWNED: Ways = Ways(1 << 1);
    /// Into a table, or as a persistent term.
    pub const STORED: Ways = Ways(1 << 2);
    /// Into the process dictionary, from where any function may get and send it.
    pub const DICTIONARY: Ways = Ways(1 << 3);
    /// To a function of which nothing is known: of another module, a fun, a native one.
    pub const UNKNOWN: Ways = Ways(1 << 4);
    /// As a result to a caller in another module, or of a fun.
    pub const RETURNED: Ways = Ways(1 << 5);
    /// In an exception, or in its stack trace.
    pub const FAILED: Ways = Ways(1 << 6);
    /// As the reason of an exit signal.
    pub const SIGNALLED: Ways = Ways(1 << 7);

    /// The ways by which the machine takes an object out of its process.
    pub const LEAVING: Ways = Ways(Ways::SENT.0 | Ways::SPAWNED.0 | Ways::STORED.0 | Ways::SIGNALLED.0);

    /// Each way with a name for people.
    pub const NAMES: [(Ways, &'static str); 8] = [
        (Ways::SENT, "sent"),
        (Ways::SPAWNED, "spawn argument"),
        (Ways::STORED, "stored"),
        (Ways::DICTIONARY, "process dictionary"),
        (Ways::UNKNOWN, "unknown function"),
        (Ways::RETURNED, "returned to another module"),
        (Ways::FAILED, "exception"),
        (Ways::SIGNALLED, "exit signal"),
    ];

    /// Whether both have a way in common.
    pub fn meets(self, other: Ways) -> bool {
        self.0 & other.0 != 0
    }

    /// No way: the object stays in its process.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Names of the ways in the order of [`Ways::NAMES`].
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Ways::NAMES.into_iter().filter(move |(way, _)| self.meets(*way)).map(|(_, name)| name)
    }
}

impl std::ops::BitOr for Ways {
    type Output = Ways;
    fn bitor(self, other: Ways) -> Ways {
        Ways(self.0 | other.0)
    }
}

/// All of `Ways`.
const ALL_WAYS: u16 = 0xff;
/// May leave as the result's upper or lower level may.
const AS_RESULT: u16 = 1 << 8;
const AS_RESULT_PARTS: u16 = 1 << 9;
/// May leave at the place that is being traced.
const TRACED: u16 = 1 << 10;
/// It goes from one round of a recursion to the next.
const GROWS: u16 = 1 << 11;
/// What may happen.
const MAY: u16 = ALL_WAYS | AS_RESULT | AS_RESULT_PARTS | TRACED | GROWS;
const MAY_BOTH: u32 = MAY as u32 | (MAY as u32) << 16;
/// There is no path on which it certainly stays. Inverted, so that a fate without any bit is that of an object that
/// nothing refers to.
const LEAVES: u16 = 1 << 13;
/// It stays if the result's upper or lower level does.
const STAYS_WITH_RESULT: u16 = 1 << 14;
const STAYS_WITH_PARTS: u16 = 1 << 15;
const STAYS: u16 = LEAVES | STAYS_WITH_RESULT | STAYS_WITH_PARTS;

/// What becomes of an object. See the head of this file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate(u32);

/// The reasons for which a half may stay: `LEAVES` here stands for "it does".
fn reasons(half: u16) -> u16 {
    (half ^ LEAVES) & STAYS
}

/// Two references to the same object, or one to it and one to what it is part of: it may leave by the ways of both,
/// and stays if both let it.
fn along(a: u16, b: u16) -> u16 {
    let (left, right) = (reasons(a), reasons(b));
    let stays = if left == 0 || right == 0 { 0 } else { ((left | right) & !LEAVES) | (left & right & LEAVES) };
    ((a | b) & MAY) | (stays ^ LEAVES)
}

fn substitute(half: u16, top: u16, parts: u16) -> u16 {
    let mut may = half & MAY & !(AS_RESULT | AS_RESULT_PARTS);
    let mut stays = reasons(half) & LEAVES;
    if half & AS_RESULT != 0 {
        may |= top & MAY;
    }
    if half & AS_RESULT_PARTS != 0 {
        may |= parts & MAY;
    }
    if half & STAYS_WITH_RESULT != 0 {
        stays |= reasons(top);
    }
    if half & STAYS_WITH_PARTS != 0 {
        stays |= reasons(parts);
    }
    may | (stays ^ LEAVES)
}

impl Fate {
    /// Nothing refers to it from here on: it stays.
    pub const DEAD: Fate = Fate(0);
    /// No path without an exception leads on from here: the neutral element of [`Fate::or`].
    pub const UNREACHED: Fate = Fate::halves(LEAVES, LEAVES);
    /// It is what the function returns.
    pub const RESULT: Fate =
        Fate::halves(AS_RESULT | STAYS_WITH_RESULT | LEAVES, AS_RESULT_PARTS | STAYS_WITH_PARTS | LEAVES);
    /// It is an element of what the function returns.
    pub const IN_RESULT: Fate = Fate::halves(
        AS_RESULT_PARTS | STAYS_WITH_PARTS | LEAVES | Ways::FAILED.0,
        AS_RESULT_PARTS | STAYS_WITH_PARTS | LEAVES | Ways::FAILED.0,
    );
    /// All its elements are elements of what the function returns; the object itself is only looked at.
    pub const ELEMENTS_IN_RESULT: Fate =
        Fate::halves(Ways::FAILED.0, AS_RESULT_PARTS | STAYS_WITH_PARTS | LEAVES | Ways::FAILED.0);
    /// As the last, but the object itself may be the result, or part of it.
    pub const REBUILT: Fate = Fate::halves(
        AS_RESULT | AS_RESULT_PARTS | Ways::FAILED.0,
        AS_RESULT_PARTS | STAYS_WITH_PARTS | LEAVES | Ways::FAILED.0,
    );
    /// It may be the result or part of it, and so may its parts.
    pub const PERHAPS_RESULT: Fate = Fate::both(AS_RESULT | AS_RESULT_PARTS | Ways::FAILED.0);
    /// One of its parts may be the result.
    pub const PART_IS_RESULT: Fate = Fate::halves(Ways::FAILED.0, AS_RESULT | AS_RESULT_PARTS | Ways::FAILED.0);
    /// It may be the result as a whole: a list's tail, an argument that is chosen.
    pub const CHOSEN: Fate = Fate::halves(AS_RESULT | Ways::FAILED.0, AS_RESULT | AS_RESULT_PARTS | Ways::FAILED.0);
    /// It is looked at, and shown in the stack trace if that fails.
    pub const LOOKED_AT: Fate = Fate::both(Ways::FAILED.0);

    const fn halves(top: u16, parts: u16) -> Fate {
        Fate(top as u32 | (parts as u32) << 16)
    }

    const fn both(half: u16) -> Fate {
        Fate::halves(half, half)
    }

    /// It may leave by these ways, and so may its parts.
    pub const fn perhaps(ways: Ways) -> Fate {
        Fate::both(ways.0)
    }

    /// It certainly leaves by these ways, with its parts.
    pub const fn certainly(ways: Ways) -> Fate {
        Fate::both(ways.0 | LEAVES)
    }

    /// Its parts certainly leave, and it perhaps.
    pub const fn parts_certainly(ways: Ways) -> Fate {
        Fate::halves(ways.0, ways.0 | LEAVES)
    }

    /// As this one, and the result too.
    pub const fn and_result(self) -> Fate {
        Fate(self.0 | (AS_RESULT as u32) | (AS_RESULT_PARTS as u32) << 16)
    }

    /// May leave by the ways of both; certainly if the first one does.
    pub const fn joined(self, other: Fate) -> Fate {
        Fate(self.0 | other.0 & MAY_BOTH)
    }

    fn top(self) -> u16 {
        self.0 as u16
    }

    fn parts(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Either path may be taken.
    #[inline]
    pub(crate) fn or(self, other: Fate) -> Fate {
        let leaves = Fate::UNREACHED.0;
        Fate(((self.0 | other.0) & !leaves) | (self.0 & other.0 & leaves))
    }

    /// The same object meets both fates on one path.
    #[inline]
    pub(crate) fn and(self, other: Fate) -> Fate {
        match (self, other) {
            (Fate::DEAD, _) => other,
            (_, Fate::DEAD) => self,
            _ if self == other => self,
            _ => Fate::halves(along(self.top(), other.top()), along(self.parts(), other.parts())),
        }
    }

    /// The fate of an element of an object with this fate.
    #[inline]
    pub(crate) fn of_element(self) -> Fate {
        Fate::both(self.parts())
    }

    /// What may happen, without what is certain.
    pub(crate) fn may(self) -> Fate {
        Fate(self.0 & MAY_BOTH)
    }

    /// The fate of an object of which a part was taken that has this fate.
    #[inline]
    pub(crate) fn of_whole(self) -> Fate {
        Fate::halves(0, (self.top() | self.parts()) & MAY)
    }

    /// The fate of an object that may be anywhere in one with this fate.
    #[inline]
    pub(crate) fn of_any(self) -> Fate {
        Fate::both((self.top() | self.parts()) & MAY)
    }

    /// As seen by a caller whose result has the fate `result`.
    #[inline]
    pub(crate) fn seen_by_caller(self, result: Fate) -> Fate {
        const SYMBOLS: u16 = AS_RESULT | AS_RESULT_PARTS | STAYS_WITH_RESULT | STAYS_WITH_PARTS;
        const BOTH: u32 = SYMBOLS as u32 | (SYMBOLS as u32) << 16;
        if self.0 & BOTH == 0 {
            return self;
        }
        let (top, parts) = (result.top(), result.parts());
        Fate::halves(substitute(self.top(), top, parts), substitute(self.parts(), top, parts))
    }

    /// With the mark of the traced place in both halves.
    pub(crate) fn traced(self) -> Fate {
        Fate(self.0 | u32::from(TRACED) | u32::from(TRACED) << 16)
    }

    /// As seen by a function of the same recursion, or with `inside` false by another one.
    pub(crate) fn in_recursion(self, inside: bool) -> Fate {
        const BOTH: u32 = GROWS as u32 | (GROWS as u32) << 16;
        if inside { Fate(self.0 | BOTH) } else { Fate(self.0 & !BOTH) }
    }

    /// Whether the object may go from one round of a recursion to the next.
    pub(crate) fn grows(self) -> bool {
        self.top() & GROWS != 0
    }

    /// Whether the object, or a part of it, may leave at the traced place.
    pub(crate) fn is_traced(self) -> bool {
        (self.top() | self.parts()) & TRACED != 0
    }

    /// Whether the object itself may leave at the traced place.
    pub(crate) fn top_is_traced(self) -> bool {
        self.top() & TRACED != 0
    }

    /// Without the way into an exception.
    pub(crate) fn without_failure(self) -> Fate {
        let failed = u32::from(Ways::FAILED.0);
        Fate(self.0 & !(failed | failed << 16))
    }

    /// The ways of the object itself.
    pub fn ways(self) -> Ways {
        Ways(self.top() & ALL_WAYS)
    }

    /// The ways of the object and of its parts.
    pub fn all_ways(self) -> Ways {
        Ways((self.top() | self.parts()) & ALL_WAYS)
    }

    /// The object itself leaves on each path without an exception.
    pub fn is_certain(self) -> bool {
        reasons(self.top()) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fates with all that a half can say, among them those that never occur.
    fn some() -> Vec<Fate> {
        let halves: Vec<u16> = (0..8)
            .flat_map(|stays: u16| [0, Ways::SENT.0, AS_RESULT, AS_RESULT_PARTS | TRACED].map(|may| may | stays << 13))
            .collect();
        halves.iter().flat_map(|top| halves.iter().map(|parts| Fate::halves(*top, *parts))).collect()
    }

    /// `a` says no more than `b`: the order in which the analysis goes up.
    fn below(a: Fate, b: Fate) -> bool {
        a.or(b) == b
    }

    #[test]
    fn the_two_ways_to_put_fates_together_have_neutral_elements_and_an_order() {
        for a in some() {
            assert_eq!(a.or(Fate::UNREACHED), a);
            assert_eq!(a.or(a), a);
            assert_eq!(a.and(Fate::DEAD).may(), a.may());
            for b in some().into_iter().step_by(7) {
                assert_eq!(a.or(b), b.or(a));
                assert_eq!(a.and(b), b.and(a));
                assert!(below(a, a.or(b)) && below(b, a.or(b)));
            }
        }
    }

    #[test]
    fn everything_goes_up_when_its_operands_do() {
        let few: Vec<Fate> = some().into_iter().step_by(5).collect();
        for &a in &few {
            for &more in few.iter().filter(|more| below(a, **more)) {
                for &b in &few {
                    assert!(below(a.and(b), more.and(b)), "{a:?} {more:?} and {b:?}");
                    assert!(below(a.seen_by_caller(b), more.seen_by_caller(b)), "{a:?} {more:?} by {b:?}");
                    assert!(below(b.seen_by_caller(a), b.seen_by_caller(more)), "{b:?} by {a:?} {more:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_sent_through_one_reference_is_sent() {
        let sent = Fate::certainly(Ways::SENT);
        assert!(sent.and(Fate::perhaps(Ways::UNKNOWN)).is_certain());
        assert!(!sent.or(Fate::DEAD).is_certain());
        assert!(Fate::RESULT.and(sent).is_certain());
        assert!(Fate::RESULT.seen_by_caller(sent).is_certain());
        assert!(!Fate::RESULT.seen_by_caller(Fate::DEAD).is_certain());
        assert_eq!(Fate::RESULT.seen_by_caller(Fate::RESULT), Fate::RESULT);
    }
}
