//! Handles the differences between PCRE2 and PCRE 8 in patterns: it rewrites for PCRE2 what only PCRE 8 accepts, and
//! reports errors in PCRE 8's words and at the place where PCRE 8 noticed them, because OTP's programs and tests know
//! these.

/// PCRE2's numbers of errors begin above this.
const BASE: i32 = 100;

/// The text of an error of PCRE2.
fn text_of(code: i32) -> String {
    let mut text = [0u8; 160];
    // SAFETY: the buffer is as long as is said.
    let length = unsafe { pcre2_sys::pcre2_get_error_message_8(code, text.as_mut_ptr(), text.len()) };
    let length = usize::try_from(length).unwrap_or(0).min(text.len());
    String::from_utf8_lossy(&text[..length]).into_owned()
}

/// The pattern with a backslash before each brace that begins a quantifier in PCRE2 only (`{,3}`, `{ 1, 2 }`), and
/// where these were put; none if there are none.
pub fn escape_braces(pattern: &[u8]) -> Option<(Vec<u8>, Vec<usize>)> {
    let (mut out, mut places) = (Vec::new(), Vec::new());
    let (mut index, mut in_class) = (0, false);
    while let Some(byte) = pattern.get(index) {
        let from = index;
        index += 1;
        match byte {
            b'\\' if pattern[index..].starts_with(b"Q") => {
                let end = pattern[index..].windows(2).position(|pair| pair == b"\\E");
                index = end.map_or(pattern.len(), |end| index + end + 2);
            }
            b'\\' => index += 1 + usize::from(pattern.get(index + 1) == Some(&b'{')),
            b'[' if !in_class => in_class = true,
            b']' => in_class = false,
            b'{' if !in_class => {
                let end = pattern[index..].iter().position(|byte| !b"0123456789, ".contains(byte));
                let inside = end.filter(|end| pattern[index + end] == b'}').map(|end| &pattern[index..index + end]);
                if inside.is_some_and(|inside| inside.contains(&b' ') || inside.len() > 1 && inside[0] == b',') {
                    places.push(out.len());
                    out.push(b'\\');
                }
            }
            _ => {}
        }
        index = index.min(pattern.len());
        out.extend_from_slice(&pattern[from..index]);
    }
    (!places.is_empty()).then_some((out, places))
}

/// The pattern written differently, if the error is one that PCRE 8 does not have; and by how many bytes it grows.
pub fn change(code: i32, pattern: &[u8], position: usize) -> Option<(Vec<u8>, isize)> {
    let before = &pattern[..position];
    let after = &pattern[position..];
    match (code - BASE, before, after) {
        // An escape that means nothing, or nothing in a class, is the character itself.
        (3 | 7, [start @ .., b'\\'], [character, ..]) if character.is_ascii_alphanumeric() => {
            Some(([start, after].concat(), -1))
        }
        // A hyphen behind a class in a class is a hyphen.
        (50, [start @ .., b'-'], _) => Some(([start, b"\\-", after].concat(), 1)),
        // A number of a group that is not there, from 8 on, is digits.
        (15, [start @ .., b'\\'], [b'8' | b'9', ..]) => Some(([start, after].concat(), -1)),
        (15, [.., b'0'..=b'9'], _) => {
            let escape = before.iter().rposition(|byte| *byte == b'\\')?;
            let (start, digits) = (&before[..escape], &before[escape + 1..]);
            let is_number = digits.iter().all(u8::is_ascii_digit) && digits[0] >= b'8';
            is_number.then(|| ([start, digits, after].concat(), -1))
        }
        // The control character of DEL is a question mark.
        (68, [start @ .., b'\\', b'c'], [0x7f, rest @ ..]) | (68, [start @ .., b'\\', b'c', 0x7f], rest) => {
            Some(([start, b"\\x3f", rest].concat(), 1))
        }
        // No digits: the character zero.
        (78, [.., b'\\', b'x'], _) => Some(([before, b"00", after].concat(), 2)),
        _ => None,
    }
}

/// Whether the pattern has classes of characters (`\w`, `\s`, `\d`) that the character tables define.
pub fn uses_tables(pattern: &[u8]) -> bool {
    pattern.windows(2).any(|pair| matches!(pair, [b'\\', b'w' | b's' | b'd']))
}

/// Message and position of an error.
pub fn describe(code: i32, pattern: &[u8], position: usize) -> (String, usize) {
    let code = code - BASE;
    let (before, after) = pattern.split_at(position);
    let unfinished = if after.is_empty() { unfinished_group(code, before) } else { None };
    let message = match code {
        // The library counts what can be wrong with UTF-8 downwards from zero.
        ..0 => "invalid UTF-8 string",
        _ if unfinished.is_some() => unfinished.unwrap_or_default(),
        62 if before.ends_with(b"(?<") => "unrecognized character after (?<",
        9 => "nothing to repeat",
        14 => "missing )",
        18 => "missing ) after comment",
        19 => "regular expression is too complicated",
        22 => "unmatched parentheses",
        25 | 35 | 100 => "lookbehind assertion is not fixed length",
        26 => "a numbered reference must not be zero",
        27 => "conditional group contains more than two branches",
        28 => "assertion expected after (?( or (?(?C)",
        29 | 58 => "(?R or (?[+-]digits must be followed by )",
        34 | 77 => "character value in \\x{} or \\o{} is too large",
        37 => "PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u",
        38 => "number after (?C is > 255",
        39 => "closing ) for (?C expected",
        42 => "syntax error in subpattern name (missing terminator)",
        43 => "two named subpatterns have the same name",
        44 => "group name must start with a non-digit",
        47 => "unknown property name after \\P or \\p",
        48 => "subpattern name is too long (maximum 32 characters)",
        54 => "DEFINE group contains more than one branch",
        57 if !before.ends_with(b"{") => "a numbered reference must not be zero",
        59 => "an argument is not allowed for (*ACCEPT), (*FAIL), or (*COMMIT)",
        68 => "\\c must be followed by an ASCII character",
        61 => "number is too big",
        78 if before.ends_with(b"\\o{") => "non-octal character in \\o{} (closing brace missing?)",
        78 => "non-hex character in \\x{} (closing brace missing?)",
        _ => return (text_of(code + BASE), place(code, pattern, position)),
    };
    (message.to_owned(), place(code, pattern, position))
}

/// What PCRE 8 says of a pattern that ends inside the beginning of a group.
fn unfinished_group(code: i32, pattern: &[u8]) -> Option<&'static str> {
    let open = pattern.windows(2).rposition(|pair| pair == b"(?")?;
    match (code, &pattern[open + 2..]) {
        (14 | 62, b"<") => Some("unrecognized character after (?<"),
        (14 | 62, b"'") => Some("syntax error in subpattern name (missing terminator)"),
        (14 | 62, b"P") => Some("unrecognized character after (?P"),
        (14, options) if options.iter().all(|byte| b"imsxJUn-".contains(byte)) => {
            Some("unrecognized character after (? or (?-")
        }
        _ => None,
    }
}

/// Where PCRE 8 notices the error that PCRE2 places at `position`.
fn place(code: i32, pattern: &[u8], position: usize) -> usize {
    let before = &pattern[..position];
    let last = |part: &[u8]| before.windows(part.len()).rposition(|window| window == part);
    match code {
        13 => last(b"[.").max(last(b"[=")).unwrap_or(position),
        30 => last(b"[:").map_or(position, |start| start + 2),
        15 => end_of_reference(pattern, position),
        25 | 35 | 100 => end_of_group(pattern, position),
        54 => end_of_group(pattern, end_of_group(pattern, position) + 1),
        28 => position + 1,
        37 | 43 | 47 | 50 | 51 | 69 | 71 => position.saturating_sub(1),
        57 if !before.ends_with(b"{") => position.saturating_sub(1),
        _ => position,
    }
}

/// The end of the name or number at `position`; in a condition, behind its parenthesis.
fn end_of_reference(pattern: &[u8], position: usize) -> usize {
    let start = position + usize::from(pattern.get(position) == Some(&b'('));
    let length = pattern[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let end = start + length;
    let condition = pattern[..start].ends_with(b"(?(") || pattern[..start].ends_with(b"(?(R&");
    end + usize::from(condition && pattern.get(end) == Some(&b')'))
}

/// The parenthesis that closes the group in which `position` lies, or which begins there.
fn end_of_group(pattern: &[u8], position: usize) -> usize {
    let mut index = position + usize::from(pattern.get(position) == Some(&b'('));
    let (mut depth, mut in_class) = (0usize, false);
    while let Some(byte) = pattern.get(index) {
        match byte {
            b'\\' => index += 1,
            b'[' if !in_class => in_class = true,
            b']' => in_class = false,
            b'(' if !in_class => depth += 1,
            b')' if !in_class && depth == 0 => return index,
            b')' if !in_class => depth -= 1,
            _ => {}
        }
        index += 1;
    }
    position
}
