//! The line on the screen: what stands where, and the bytes that bring it there. It may go over several rows; the
//! cursor is in one of them.

use std::cmp::Ordering;

use unicode_width::UnicodeWidthChar;

use super::screen::Screen;

/// Characters after which a line that does not end is forgotten.
const LONGEST: usize = 1 << 16;
/// Columns from one stop of the tabulator to the next.
const TAB: usize = 8;

/// A character as it stands on the screen.
struct Cell {
    shown: String,
    columns: usize,
}

/// The line.
pub struct Line {
    screen: Screen,
    columns: usize,
    unicode: bool,
    cells: Vec<Cell>,
    /// Cells in front of the cursor, and their columns.
    position: usize,
    column: usize,
    output: Vec<u8>,
}

impl Line {
    /// An empty line.
    pub fn new(screen: Screen, unicode: bool) -> Line {
        let columns = screen.columns.max(1);
        Line { screen, columns, unicode, cells: Vec::new(), position: 0, column: 0, output: Vec::new() }
    }

    /// Whether characters are shown in UTF-8.
    pub fn is_unicode(&self) -> bool {
        self.unicode
    }

    /// Shows characters in UTF-8, or those beyond ASCII by their numbers.
    pub fn set_unicode(&mut self, unicode: bool) {
        self.unicode = unicode;
    }

    /// The width of the screen.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns.max(1);
    }

    /// What has to be sent to the terminal.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Rings the bell.
    pub fn beep(&mut self) {
        self.output.push(7);
    }

    /// Writes over what stands at the cursor and behind it.
    pub fn put(&mut self, text: &[u8]) {
        if self.position > LONGEST {
            self.end_of_line(b"\r\n");
        }
        let from = self.write(text);
        self.late_wrap(from < self.position);
    }

    /// Writes in front of what stands at the cursor.
    pub fn insert(&mut self, text: &[u8]) {
        let tail = self.cells.split_off(self.position);
        let from = self.write(text);
        self.cells.truncate(self.position);
        self.cells.extend(tail);
        let end = self.show_from(self.position);
        self.late_wrap_at(end, self.cells.len(), from < self.cells.len());
        self.move_cursor(end, self.column);
    }

    /// Moves the cursor over so many characters, back if it is negative.
    pub fn move_by(&mut self, distance: isize) {
        let to = self.step(distance);
        self.go_to(to);
    }

    /// Takes away so many characters behind the cursor, or in front of it if it is negative.
    pub fn delete(&mut self, distance: isize) {
        let to = self.step(distance);
        let (from, to) = (to.min(self.position), to.max(self.position));
        if from == to {
            return;
        }
        self.go_to(from);
        let gone: usize = self.cells.drain(from..to).map(|cell| cell.columns).sum();
        let mut end = self.show_from(from);
        self.output.extend(std::iter::repeat_n(b' ', gone));
        end += gone;
        self.late_wrap_at(end, self.cells.len(), true);
        self.move_cursor(end, self.column);
    }

    fn step(&self, distance: isize) -> usize {
        self.position.saturating_add_signed(distance).min(self.cells.len())
    }

    fn go_to(&mut self, to: usize) {
        let before = self.column;
        match to.cmp(&self.position) {
            Ordering::Greater => self.column += columns(&self.cells[self.position..to]),
            Ordering::Less => self.column -= columns(&self.cells[to..self.position]),
            Ordering::Equal => {}
        }
        self.position = to;
        self.move_cursor(before, self.column);
    }

    /// Sends the cells from one on; returns the column behind the last.
    fn show_from(&mut self, from: usize) -> usize {
        let rest = &self.cells[from..];
        rest.iter().for_each(|cell| self.output.extend_from_slice(cell.shown.as_bytes()));
        self.column + columns(rest)
    }

    /// Puts characters into cells from the cursor on, and sends them; returns the position at which the last row
    /// begins.
    fn write(&mut self, text: &[u8]) -> usize {
        let mut from = self.position;
        for chunk in text.utf8_chunks() {
            let invalid = chunk.invalid().iter().map(|byte| char::from(*byte));
            for character in chunk.valid().chars().chain(invalid) {
                match character {
                    '\n' => self.end_of_line(b"\r\n"),
                    '\r' => self.end_of_line(b"\r"),
                    _ => {
                        let cell = self.cell(character);
                        self.output.extend_from_slice(cell.shown.as_bytes());
                        self.put_cell(cell);
                        continue;
                    }
                }
                from = 0;
            }
        }
        from
    }

    fn put_cell(&mut self, cell: Cell) {
        self.column += cell.columns;
        match self.cells.get_mut(self.position) {
            Some(old) => *old = cell,
            None => self.cells.push(cell),
        }
        self.position += 1;
    }

    /// What stands in front of the cursor cannot be reached any more.
    fn end_of_line(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        self.cells.drain(..self.position);
        self.position = 0;
        self.column = 0;
    }

    fn cell(&self, character: char) -> Cell {
        let shown = match character {
            '\t' => return Cell { shown: " ".repeat(TAB - self.column % TAB), columns: TAB - self.column % TAB },
            // Sent as it is; as in OTP it takes a column, which tabs show.
            '\x1b' => character.to_string(),
            '\0'..='\x1f' => format!("^{}", char::from(character as u8 | 0x40)),
            '\x7f' => "^?".to_owned(),
            _ if character.is_ascii() => character.to_string(),
            _ if self.unicode => {
                return Cell { shown: character.to_string(), columns: character.width().unwrap_or(1) };
            }
            '\0'..='\u{1ff}' => format!("\\{:o}", character as u32),
            _ => format!("\\x{{{:X}}}", character as u32),
        };
        Cell { columns: shown.len(), shown }
    }

    /// Behind the last column the cursor still stands in the old row: it is brought into the next one.
    fn late_wrap(&mut self, wrote: bool) {
        self.late_wrap_at(self.column, self.position, wrote);
    }

    fn late_wrap_at(&mut self, column: usize, next: usize, wrote: bool) {
        if !wrote || !self.screen.wraps_late || column == 0 || !column.is_multiple_of(self.columns) {
            return;
        }
        let (shown, width) = self.cells.get(next).map_or((" ", 1), |cell| (cell.shown.as_str(), cell.columns));
        self.output.extend_from_slice(shown.as_bytes());
        self.repeat(width, &self.screen.left.clone());
    }

    fn move_cursor(&mut self, from: usize, to: usize) {
        let (rows, columns) = (row(from, to, self.columns), place(from, to, self.columns));
        let Screen { up, down, left, right, .. } = self.screen.clone();
        self.repeat(rows.unsigned_abs(), if rows > 0 { &down } else { &up });
        self.repeat(columns.unsigned_abs(), if columns > 0 { &right } else { &left });
    }

    fn repeat(&mut self, count: usize, bytes: &[u8]) {
        (0..count).for_each(|_| self.output.extend_from_slice(bytes));
    }
}

fn columns(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| cell.columns).sum()
}

fn row(from: usize, to: usize, columns: usize) -> isize {
    (to / columns) as isize - (from / columns) as isize
}

fn place(from: usize, to: usize, columns: usize) -> isize {
    (to % columns) as isize - (from % columns) as isize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        let text = |text: &str| text.as_bytes().to_vec();
        let screen =
            Screen { up: text("U"), down: text("D"), left: text("<"), right: text(">"), wraps_late: true, columns: 10 };
        Line::new(screen, true)
    }

    fn sent(line: &mut Line) -> String {
        String::from_utf8(line.take_output()).expect("only text is sent here")
    }

    #[test]
    fn characters_are_inserted_and_deleted_in_the_middle() {
        let mut line = line();
        line.put(b"abc");
        line.move_by(-2);
        line.insert(b"x");
        assert_eq!(sent(&mut line), "abc<<xbc<<");
        line.delete(-2);
        assert_eq!(sent(&mut line), "<<bc  <<<<");
        line.delete(1);
        line.move_by(5);
        assert_eq!(sent(&mut line), "c <<>");
    }

    #[test]
    fn a_line_goes_over_rows() {
        let mut line = line();
        line.put(b"0123456789");
        assert_eq!(sent(&mut line), "0123456789 <");
        line.put(b"ab");
        line.move_by(-4);
        assert_eq!(sent(&mut line), "abU>>>>>>");
        line.move_by(4);
        assert_eq!(sent(&mut line), "D<<<<<<");
    }

    #[test]
    fn what_cannot_be_shown_is_described() {
        let mut line = line();
        line.put("\x01\u{e9}\t|\n".as_bytes());
        assert_eq!(sent(&mut line), "^A\u{e9}     |\r\n");
        line.set_unicode(false);
        line.put("\u{e9}\u{20ac}".as_bytes());
        assert_eq!(sent(&mut line), "\\351\\x{20AC}");
        // One character each, whatever it looks like.
        line.move_by(-2);
        assert_eq!(sent(&mut line), "U<<");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let mut line = line();
        line.put("\u{4e16}x".as_bytes());
        line.move_by(-2);
        assert_eq!(sent(&mut line), "\u{4e16}x<<<");
    }
}
