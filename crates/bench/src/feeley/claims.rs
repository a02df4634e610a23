//! What the paper says of its curves (sections 4.2 to 4.4), held against ours: `unified` stands for ETOS, and stock
//! `erl` as well as `private`, which differs from `unified` in nothing but the heap, for Erlang/OTP.

use crate::feeley::Curve;
use crate::spread::Spread;

/// A claim, and what was measured here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What the paper says.
    pub statement: String,
    /// What was measured.
    pub measured: String,
}

/// The curves of Erlang/OTP's kind.
const RIVALS: [&str; 2] = ["private", "erl"];
const UNIFIED: &str = "unified";

/// All claims for which there are curves.
pub(super) fn judge(curves: &[Curve]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut say = |statement: &str, measured: Option<String>| {
        claims.extend(measured.map(|measured| Claim { statement: statement.to_owned(), measured }));
    };
    let at_end = |figure, program| {
        ratios(
            curves,
            figure,
            program,
            |curve| Some(curve.points.last()?.1.median),
            |points| format!("with {points} 4-tuples"),
        )
    };
    let at_start = |figure, program| {
        ratios(curves, figure, program, |curve| Some(curve.points.first()?.1.median), |_| "without a 4-tuple".into())
    };
    say(
        "4.2: to spawn a process and to wait for it takes ETOS twice as long as Erlang/OTP",
        at_start("figure-4", "garb0"),
    );
    say("4.2: ETOS is faster as soon as N is above 50 (garb0)", crossing(curves, "figure-4", "garb0"));
    say("4.2: ETOS is faster as soon as N is above 50 (garb75)", crossing(curves, "figure-4", "garb75"));
    say("4.2: for large N, ETOS is 5 times faster on garb0", at_end("figure-5", "garb0"));
    say("4.2: for large N, ETOS is twice as fast on garb75", at_end("figure-5", "garb75"));
    say("4.2: garb75 and garb0 take ETOS the same time; with private heaps garb0 takes twice as long", same(curves));
    say(
        "4.3: five 4-tuples that are sent make up for the higher cost of processes",
        crossing(curves, "figure-7", "comm"),
    );
    say(
        "4.3: the time of ETOS does not depend on what is sent, that of Erlang/OTP is proportional to it",
        growth(curves),
    );
    say("4.4: Erlang/OTP takes 145 MB, ETOS 24 MB", at_end("section-4.4", "frag"));
    claims
}

fn find<'a>(curves: &'a [Curve], figure: &str, program: &str, contender: &str) -> Option<&'a Curve> {
    curves.iter().find(|curve| (curve.figure, curve.program, curve.contender.as_str()) == (figure, program, contender))
}

/// How many times what `unified` takes its rivals take.
fn ratios(
    curves: &[Curve],
    figure: &str,
    program: &str,
    value: impl Fn(&Curve) -> Option<u64>,
    place: impl Fn(usize) -> String,
) -> Option<String> {
    let own = find(curves, figure, program, UNIFIED)?;
    let base = value(own).filter(|base| *base > 0)?;
    let words: Vec<String> = RIVALS
        .iter()
        .filter_map(|rival| {
            let ratio = value(find(curves, figure, program, rival)?)? as f64 / base as f64;
            Some(format!("{ratio:.2} times it on {rival}"))
        })
        .collect();
    let last = own.points.last()?.0;
    (!words.is_empty()).then(|| format!("{}: {}", place(last), words.join(", ")))
}

/// From which number of 4-tuples on `unified` takes less than its rivals.
fn crossing(curves: &[Curve], figure: &str, program: &str) -> Option<String> {
    let own = find(curves, figure, program, UNIFIED)?;
    let words: Vec<String> = RIVALS
        .iter()
        .filter_map(|rival| {
            let other = find(curves, figure, program, rival)?;
            let pairs: Vec<(usize, bool)> = own
                .points
                .iter()
                .zip(&other.points)
                .filter(|(own, other)| own.0 == other.0)
                .map(|((tuples, own), (_, other))| (*tuples, own.median < other.median))
                .collect();
            let behind_last_loss = pairs.iter().rposition(|(_, wins)| !wins).map_or(0, |place| place + 1);
            Some(match pairs.get(behind_last_loss) {
                Some((tuples, _)) => format!("faster than {rival} from {tuples} on"),
                None => format!("not faster than {rival} at the end"),
            })
        })
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn last(curve: &Curve) -> Option<&Spread> {
    curve.points.last().map(|(_, spread)| spread)
}

/// What `garb0` takes in terms of `garb75`, at the end of Figure 5.
fn same(curves: &[Curve]) -> Option<String> {
    let words: Vec<String> = [UNIFIED, "private", "erl"]
        .iter()
        .filter_map(|contender| {
            let long = last(find(curves, "figure-5", "garb0", contender)?)?.median;
            let short = last(find(curves, "figure-5", "garb75", contender)?)?.median;
            (short > 0).then(|| format!("{:.2} on {contender}", long as f64 / short as f64))
        })
        .collect();
    (!words.is_empty()).then(|| format!("garb0 by garb75: {}", words.join(", ")))
}

/// How much longer a message with all 4-tuples takes than one without.
fn growth(curves: &[Curve]) -> Option<String> {
    let words: Vec<String> = [UNIFIED, "shared", "hybrid", "private", "erl"]
        .iter()
        .filter_map(|contender| {
            let curve = find(curves, "figure-7", "comm", contender)?;
            let (first, last) = (curve.points.first()?.1.median, last(curve)?.median);
            (first > 0).then(|| format!("{:.2} on {contender}", last as f64 / first as f64))
        })
        .collect();
    (!words.is_empty()).then(|| format!("with all 4-tuples by with none: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeley::tests::curve;

    #[test]
    fn claims_are_held_against_curves() {
        let curves = [
            curve("figure-7", "comm", "unified", [2_000, 2_100, 2_200]),
            curve("figure-7", "comm", "private", [1_000, 4_000, 8_000]),
            curve("figure-7", "comm", "erl", [1_000, 1_500, 2_000]),
            curve("section-4.4", "frag", "unified", [1, 1, 50]),
            curve("section-4.4", "frag", "erl", [1, 1, 300]),
        ];
        let claims = judge(&curves);
        let measured: Vec<&str> = claims.iter().map(|claim| claim.measured.as_str()).collect();
        assert_eq!(
            measured,
            [
                "faster than private from 100 on, not faster than erl at the end",
                "with all 4-tuples by with none: 1.10 on unified, 8.00 on private, 2.00 on erl",
                "with 200 4-tuples: 6.00 times it on erl"
            ]
        );
    }
}
