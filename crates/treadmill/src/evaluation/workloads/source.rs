//! Text of a made-up module in the style of Modula-3, for the pretty printer and the compiler.

use super::Numbers;

const WORDS: [&str; 24] = [
    "count", "buffer", "index", "node", "left", "right", "Text", "Rd", "Wr", "thread", "mutex", "value", "key",
    "table", "size", "list", "rest", "first", "event", "window", "color", "point", "path", "scale",
];

/// Writes the next line of a module, without its end; `depth` follows the nesting.
pub(super) fn line(numbers: &mut Numbers, depth: &mut usize, into: &mut String) {
    into.clear();
    (0..*depth * 2).for_each(|_| into.push(' '));
    match numbers.below(10) {
        0 if *depth < 6 => {
            *depth += 1;
            into.push_str("IF ");
            expression(numbers, into, 2);
            into.push_str(" THEN");
        }
        1 if *depth > 0 => {
            *depth -= 1;
            into.push_str("END;");
        }
        2 => {
            into.push_str("VAR ");
            word(numbers, into);
            into.push_str(": INTEGER := ");
            expression(numbers, into, 1);
            into.push(';');
        }
        _ => {
            word(numbers, into);
            into.push_str(" := ");
            expression(numbers, into, 3);
            into.push(';');
        }
    }
}

fn word(numbers: &mut Numbers, into: &mut String) {
    into.push_str(WORDS[numbers.below(WORDS.len())]);
}

fn expression(numbers: &mut Numbers, into: &mut String, depth: usize) {
    match numbers.below(4) {
        0 | 1 if depth > 0 => {
            expression(numbers, into, depth - 1);
            into.push_str([" + ", " * ", " - "][numbers.below(3)]);
            expression(numbers, into, depth - 1);
        }
        2 if depth > 0 => {
            word(numbers, into);
            into.push('(');
            expression(numbers, into, depth - 1);
            into.push(')');
        }
        3 => {
            let number = numbers.below(1000).to_string();
            into.push_str(&number);
        }
        _ => word(numbers, into),
    }
}

/// The tokens of a line.
pub(super) fn tokens(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive([' ', '(', ')', ';', ':'])
        .flat_map(|part| {
            let cut = part.len() - usize::from(part.ends_with([' ', '(', ')', ';', ':']));
            [&part[..cut], part[cut..].trim()]
        })
        .filter(|token| !token.is_empty())
}
