//! Minimum mutator utilisation: the share of time that the program is sure to get in any window of a given length.
//!
//! Cheng and Blelloch, "A parallel, real-time garbage collector" (PLDI 2001), section 3.

use serde::{Deserialize, Serialize};

/// One stop of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it began, in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// How long it lasted, in nanoseconds.
    pub length_ns: u64,
}

/// The least share of the time that the program got in any window of one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowUtilisation {
    /// The length of the window, in nanoseconds.
    pub window_ns: u64,
    /// From 0.0 (stopped throughout) to 1.0 (never stopped).
    pub utilisation: f64,
}

/// The minimum mutator utilisation of a run of `total_ns` for each window; windows of no length, or longer than the
/// run, are left out. Pauses may come in any order and may overlap.
///
/// The worst window begins where a pause begins or ends where one ends, so only those are looked at: linear in the
/// number of pauses for each window, after sorting.
pub fn minimum_mutator_utilisation(pauses: &[Pause], total_ns: u64, windows_ns: &[u64]) -> Vec<WindowUtilisation> {
    let stops = disjoint(pauses, total_ns);
    windows_ns
        .iter()
        .copied()
        .filter(|window| (1..=total_ns).contains(window))
        .map(|window_ns| {
            let stopped = longest_stop_within(&stops, total_ns, window_ns);
            WindowUtilisation { window_ns, utilisation: 1.0 - stopped as f64 / window_ns as f64 }
        })
        .collect()
}

/// Start and end of each stop, in order, overlaps joined, cut to the run.
fn disjoint(pauses: &[Pause], total_ns: u64) -> Vec<(u64, u64)> {
    let mut stops: Vec<(u64, u64)> = pauses
        .iter()
        .map(|pause| {
            let end = pause.start_ns.saturating_add(pause.length_ns);
            (pause.start_ns.min(total_ns), end.min(total_ns))
        })
        .filter(|(start, end)| start < end)
        .collect();
    stops.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(stops.len());
    for (start, end) in stops {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

fn longest_stop_within(stops: &[(u64, u64)], total_ns: u64, window_ns: u64) -> u64 {
    let mut starts: Vec<u64> = stops
        .iter()
        .flat_map(|(start, end)| [*start, end.saturating_sub(window_ns)])
        .map(|start| start.min(total_ns - window_ns))
        .collect();
    starts.sort_unstable();

    let mut worst = 0;
    let (mut first, mut past) = (0, 0);
    // Lengths of the stops in `first..past`, whole.
    let mut whole = 0;
    for from in starts {
        let to = from + window_ns;
        while past < stops.len() && stops[past].0 < to {
            whole += stops[past].1 - stops[past].0;
            past += 1;
        }
        while first < past && stops[first].1 <= from {
            whole -= stops[first].1 - stops[first].0;
            first += 1;
        }
        if first == past {
            continue;
        }
        let before = from.saturating_sub(stops[first].0);
        let after = stops[past - 1].1.saturating_sub(to);
        worst = worst.max(whole - before - after);
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(list: &[(u64, u64)]) -> Vec<Pause> {
        list.iter().map(|&(start_ns, length_ns)| Pause { start_ns, length_ns }).collect()
    }

    /// Tries every window of the run.
    fn by_hand(list: &[(u64, u64)], total: u64, window: u64) -> f64 {
        let stopped = |instant: u64| list.iter().any(|&(start, length)| (start..start + length).contains(&instant));
        let worst = (0..=total - window)
            .map(|from| (from..from + window).filter(|&instant| stopped(instant)).count())
            .max()
            .unwrap();
        1.0 - worst as f64 / window as f64
    }

    #[test]
    fn agrees_with_trying_every_window() {
        let lists: [&[(u64, u64)]; 5] = [
            &[(10, 5), (30, 5), (36, 2), (80, 10)],
            &[(0, 3), (97, 3)],
            &[(5, 20), (10, 5), (24, 9)],
            &[(95, 20)],
            &[(40, 1), (42, 1), (44, 1), (46, 1), (60, 4)],
        ];
        for list in lists {
            for window in [1, 2, 3, 7, 10, 33, 50, 99, 100] {
                let found = minimum_mutator_utilisation(&pauses(list), 100, &[window]);
                let wanted = by_hand(list, 100, window);
                assert!((found[0].utilisation - wanted).abs() < 1e-12, "{list:?} {window}");
            }
        }
    }

    #[test]
    fn without_pauses_the_program_has_everything() {
        let found = minimum_mutator_utilisation(&[], 100, &[0, 10, 200]);
        assert_eq!(found, [WindowUtilisation { window_ns: 10, utilisation: 1.0 }]);
    }
}
