//! The story of a run as a sequence diagram: a column for each process, time downwards, messages as arrows.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::story::{self, Event, What};

/// Units of the picture.
const COLUMN: usize = 330;
const ROW: usize = 22;
const TOP: usize = 60;
const LEFT: usize = 40;
/// Most events that are drawn.
const MOST_ROWS: usize = 500;
/// Characters of a text that are drawn.
const CHARACTERS: usize = 48;

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn short(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => escape(&format!("{}...", &text[..end])),
        None => escape(text),
    }
}

/// A message that was taken: its sender's row and column, and the receiver's.
struct Arrow {
    from: (usize, u64),
    to: (usize, u64),
}

/// Pairs what was sent with what was taken: a process takes the oldest of equal messages.
fn arrows(events: &[&Event]) -> Vec<Arrow> {
    let mut open: Vec<(usize, u64, u64, &str)> = Vec::new();
    let mut arrows = Vec::new();
    for (row, event) in events.iter().enumerate() {
        match &event.what {
            What::Sends(_, Some(to), message, _) => open.push((row, event.process, *to, message)),
            What::Takes(taken) => {
                let place = open.iter().position(|(_, _, to, message)| *to == event.process && message == taken);
                if let Some(place) = place {
                    let (sent, from, _, _) = open.remove(place);
                    arrows.push(Arrow { from: (sent, from), to: (row, event.process) });
                }
            }
            _ => {}
        }
    }
    arrows
}

/// The picture, as SVG.
pub fn svg(events: &[Event]) -> String {
    let names = story::names(events);
    let mut told = story::told(events);
    // The end is where it failed.
    told.drain(..told.len().saturating_sub(MOST_ROWS));
    let columns: BTreeMap<u64, usize> = {
        let mut seen: Vec<u64> = Vec::new();
        for event in &told {
            if !seen.contains(&event.process) {
                seen.push(event.process);
            }
        }
        seen.into_iter().zip(0..).collect()
    };
    let x = |process: u64| LEFT + columns.get(&process).copied().unwrap_or(0) * COLUMN;
    let y = |row: usize| TOP + row * ROW;
    let (width, height) = (LEFT + columns.len().max(1) * COLUMN, y(told.len()) + ROW);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"'DejaVu Sans Mono', Menlo, monospace\" font-size=\"11\" role=\"img\">\n\
         <title>Processes and messages of a run</title>\n\
         <defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\">\
         <path d=\"M0,0 L7,3 L0,6 z\" fill=\"#b3402a\"/></marker></defs>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"
    );
    for process in columns.keys() {
        let name = escape(names.get(process).map_or("", String::as_str));
        let x = x(*process);
        let _ = writeln!(out, "<text x=\"{x}\" y=\"30\" font-weight=\"600\" font-size=\"13\">{name}</text>");
        let _ = writeln!(
            out,
            "<line x1=\"{x}\" y1=\"40\" x2=\"{x}\" y2=\"{height}\" stroke=\"#c8c8c8\" stroke-dasharray=\"3 3\"/>"
        );
    }
    let mut begun = 0;
    for (row, event) in told.iter().enumerate() {
        let is_last = told.get(row + 1).is_none_or(|next| next.process != event.process);
        if is_last {
            // The stretch in which the process ran.
            let (x, top, height) = (x(event.process) - 4, y(begun) - 12, (row + 1 - begun) * ROW - 4);
            let _ = writeln!(out, "<rect x=\"{x}\" y=\"{top}\" width=\"8\" height=\"{height}\" fill=\"#5b84b1\"/>");
            begun = row + 1;
        }
    }
    for arrow in arrows(&told) {
        let (x1, x2, y1, y2) = (x(arrow.from.1), x(arrow.to.1), y(arrow.from.0) - 4, y(arrow.to.0) - 4);
        let _ = writeln!(
            out,
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#b3402a\" marker-end=\"url(#head)\"/>"
        );
    }
    for (row, event) in told.iter().enumerate().filter(|(_, event)| event.what != What::Runs) {
        let text = story::line(event, &names);
        let colour = match event.what {
            What::Interrupted => "#b3402a",
            What::Waits | What::Ends(_) => "#777777",
            _ => "#222222",
        };
        let hint = event.line.as_deref().map_or_else(|| text.clone(), |line| format!("{text} [{line}]"));
        let (x, y) = (x(event.process) + 10, y(row));
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{}<title>{}</title></text>",
            short(&text),
            escape(&hint)
        );
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(process: u64, what: What) -> Event {
        Event { process, what, function: Some("m:f/1".to_owned()), line: None }
    }

    #[test]
    fn an_arrow_leads_from_each_message_to_where_it_was_taken() {
        let events = [
            event(5, What::Sends("<0.6.0>".to_owned(), Some(6), "{a,<b>}".to_owned(), false)),
            event(5, What::Sends("<0.6.0>".to_owned(), Some(6), "c".to_owned(), false)),
            event(6, What::Takes("c".to_owned())),
            event(6, What::Takes("{a,<b>}".to_owned())),
        ];
        let picture = svg(&events);
        assert_eq!(picture.matches("marker-end").count(), 2);
        assert!(picture.contains("takes {a,&lt;b&gt;}") && !picture.contains("<b>"));
    }
}
