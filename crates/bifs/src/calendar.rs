//! Dates: local time and universal time, by the system's time zone.

use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Term, atoms};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};

use crate::time::system_nanoseconds;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "date", 0, date),
    BuiltIn::new("erlang", "time", 0, time),
    BuiltIn::new("erlang", "localtime", 0, localtime),
    BuiltIn::new("erlang", "universaltime", 0, universaltime),
    BuiltIn::new("erlang", "localtime_to_universaltime", 2, to_universal),
    BuiltIn::new("erlang", "universaltime_to_localtime", 1, to_local),
    BuiltIn::new("erlang", "universaltime_to_posixtime", 1, to_posix),
    BuiltIn::new("erlang", "posixtime_to_universaltime", 1, from_posix),
];

fn zone() -> TimeZone {
    TimeZone::system()
}

fn now() -> Timestamp {
    Timestamp::from_nanosecond(system_nanoseconds().into()).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn date_term(caller: &mut Caller<'_>, time: DateTime) -> Term {
    let parts = [i64::from(time.year()), time.month().into(), time.day().into()];
    caller.heap().tuple(&parts.map(Term::small))
}

fn time_term(caller: &mut Caller<'_>, time: DateTime) -> Term {
    let parts = [i64::from(time.hour()), time.minute().into(), time.second().into()];
    caller.heap().tuple(&parts.map(Term::small))
}

fn term(caller: &mut Caller<'_>, time: DateTime) -> Term {
    let (date, time) = (date_term(caller, time), time_term(caller, time));
    caller.heap().tuple(&[date, time])
}

/// `{{Year, Month, Day}, {Hour, Minute, Second}}`
fn read(term: Term) -> Option<DateTime> {
    let &[date, time] = term.tuple_elements()? else { return None };
    let (&[year, month, day], &[hour, minute, second]) = (date.tuple_elements()?, time.tuple_elements()?) else {
        return None;
    };
    let small = |term: Term| term.as_small();
    let part = |term: Term| i8::try_from(small(term)?).ok();
    let year = i16::try_from(small(year)?).ok()?;
    DateTime::new(year, part(month)?, part(day)?, part(hour)?, part(minute)?, part(second)?, 0).ok()
}

/// As [`read`], of a year of which OTP knows the time zones.
fn read_with_zone(term: Term) -> Option<DateTime> {
    const FIRST_YEAR: i16 = 1902;
    read(term).filter(|time| time.year() >= FIRST_YEAR)
}

fn local_now() -> DateTime {
    Zoned::new(now(), zone()).datetime()
}

fn date(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(date_term(caller, local_now()))
}

fn time(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(time_term(caller, local_now()))
}

fn localtime(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(term(caller, local_now()))
}

fn universaltime(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(term(caller, TimeZone::UTC.to_datetime(now())))
}

/// `localtime_to_universaltime(DateTime, IsDaylightSaving)`: the flag chooses where a local time stands for two.
fn to_universal(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let local = read_with_zone(arguments[0]).ok_or_else(badarg)?;
    let daylight = match arguments[1] {
        atoms::TRUE => Some(true),
        atoms::FALSE => Some(false),
        atoms::UNDEFINED => None,
        _ => return Err(badarg()),
    };
    let offset = match zone().to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } => before,
        AmbiguousOffset::Fold { before, after } => {
            if daylight == Some(false) {
                after
            } else {
                before
            }
        }
    };
    let time = offset.to_timestamp(local).map_err(|_| badarg())?;
    Ok(term(caller, TimeZone::UTC.to_datetime(time)))
}

fn to_local(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let universal = read_with_zone(arguments[0]).ok_or_else(badarg)?;
    let time = TimeZone::UTC.to_timestamp(universal).map_err(|_| badarg())?;
    Ok(term(caller, zone().to_datetime(time)))
}

fn to_posix(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let universal = read(arguments[0]).ok_or_else(badarg)?;
    let time = TimeZone::UTC.to_timestamp(universal).map_err(|_| badarg())?;
    Ok(caller.heap().integer(time.as_second()))
}

fn from_posix(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let seconds = arguments[0].to_i64().ok_or_else(badarg)?;
    let ((year, month, day), second) = (civil(seconds.div_euclid(86_400)), seconds.rem_euclid(86_400));
    let heap = caller.heap();
    let date = heap.tuple(&[year, month, day].map(Term::small));
    let time = heap.tuple(&[second / 3_600, second / 60 % 60, second % 60].map(Term::small));
    Ok(heap.tuple(&[date, time]))
}

/// Year, month and day of a day since 1970, of whatever year: libraries know those of four digits. Counted from 1 March
/// of year 0, four centuries always have the same number of days, and so have five months.
fn civil(day: i64) -> (i64, i64, i64) {
    const FOUR_CENTURIES: i64 = 146_097;
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(FOUR_CENTURIES), day.rem_euclid(FOUR_CENTURIES));
    let year = (day - day / 1_460 + day / 36_524 - day / (FOUR_CENTURIES - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day - (153 * from_march + 2) / 5 + 1)
}
