//! What a sweep makes of the lines of a section.

use super::*;
use crate::tests::random::Random;

const CYCLE: u32 = 7;

/// The lines of a section in stretches of the same state, of which some begin and end with groups.
fn lines(random: &mut Random) -> Vec<u8> {
    let states = [line::FREE, line::MARKED, line::of_cycle(CYCLE), line::of_cycle(CYCLE - 1)];
    let mut lines = Vec::new();
    while lines.len() < SECTION_LINES {
        let row = if random.below(2) == 0 { random.below(12) } else { GROUP * random.below(6) };
        lines.extend(std::iter::repeat_n(states[random.below(4)], row));
    }
    lines.truncate(SECTION_LINES);
    lines
}

#[test]
fn groups_of_lines_are_swept_as_each_line_would_be() {
    let space = Space::new(false, None).unwrap();
    let mut random = Random(3);
    for number in 0..20 {
        let before = lines(&mut random);
        let bytes = || (number * SECTION_LINES..).map(|line| space.line(line)).take(SECTION_LINES);
        bytes().zip(&before).for_each(|(byte, state)| byte.store(*state, Ordering::Relaxed));
        let mut found = Swept::default();
        let sweep = Sweep { cycle: CYCLE, takes_over: false, void: false };
        let swept = space.sweep_section(number, sweep, &mut found);

        let dead = line::of_cycle(CYCLE - 1);
        let after: Vec<u8> = before.iter().map(|state| if *state == dead { line::FREE } else { *state }).collect();
        assert_eq!(bytes().map(|byte| byte.load(Ordering::Relaxed)).collect::<Vec<_>>(), after);
        let count = |lines: &[u8], state| lines.iter().filter(|line| **line == state).count();
        assert_eq!(swept.marked, count(&before, line::MARKED));
        assert_eq!([swept.new, found.new], [count(&before, line::of_cycle(CYCLE)); 2]);
        assert_eq!(found.freed, count(&before, dead));
        let rows = after.chunk_by(|one, next| one == next).filter(|row| row[0] == line::FREE);
        let rows: Vec<usize> = rows.map(<[u8]>::len).filter(|row| *row >= FEWEST_LINES).collect();
        assert_eq!(swept.usable, Room { lines: rows.iter().sum(), runs: rows.len() });
    }
}
