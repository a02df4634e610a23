//! Character tables for patterns without `unicode`: bytes are Latin-1 characters, as in OTP.

/// Bytes of PCRE2's tables: lower case, other case, classes as bit maps, types.
const LENGTH: usize = 256 + 256 + 320 + 256;
/// Where the classes begin.
const CLASSES: usize = 512;
/// Where the types begin.
const TYPES: usize = CLASSES + 320;

/// The tables, in PCRE2's layout.
pub static LATIN1: [u8; LENGTH] = build();

const fn within(byte: u8, first: u8, last: u8) -> bool {
    first <= byte && byte <= last
}

const fn is_upper(byte: u8) -> bool {
    within(byte, b'A', b'Z') || within(byte, 0xc0, 0xde) && byte != 0xd7
}

const fn is_lower(byte: u8) -> bool {
    within(byte, b'a', b'z') || within(byte, 0xdf, 0xff) && byte != 0xf7 || matches!(byte, 0xaa | 0xb5 | 0xba)
}

const fn is_space(byte: u8) -> bool {
    within(byte, 9, 13) || byte == b' '
}

const fn is_digit(byte: u8) -> bool {
    within(byte, b'0', b'9')
}

const fn is_hexadecimal(byte: u8) -> bool {
    is_digit(byte) || within(byte, b'A', b'F') || within(byte, b'a', b'f')
}

const fn is_word(byte: u8) -> bool {
    is_upper(byte) || is_lower(byte) || is_digit(byte) || byte == b'_'
}

const fn is_graphic(byte: u8) -> bool {
    within(byte, 33, 126) || byte >= 160
}

const fn is_printed(byte: u8) -> bool {
    is_graphic(byte) || byte == b' '
}

const fn is_punctuation(byte: u8) -> bool {
    is_graphic(byte) && (!is_word(byte) || byte == b'_')
}

const fn is_control(byte: u8) -> bool {
    byte < 32 || within(byte, 127, 159)
}

const fn lower(byte: u8) -> u8 {
    if is_upper(byte) { byte + 32 } else { byte }
}

/// The character in the other case, where Latin-1 has both.
const fn other_case(byte: u8) -> u8 {
    if is_upper(byte) {
        byte + 32
    } else if is_lower(byte) && !matches!(byte, 0xaa | 0xb5 | 0xba | 0xdf | 0xff) {
        byte - 32
    } else {
        byte
    }
}

/// In the order of PCRE2's bit maps.
const fn in_class(class: usize, byte: u8) -> bool {
    match class {
        0 => is_space(byte),
        1 => is_hexadecimal(byte),
        2 => is_digit(byte),
        3 => is_upper(byte),
        4 => is_lower(byte),
        5 => is_word(byte),
        6 => is_graphic(byte),
        7 => is_printed(byte),
        8 => is_punctuation(byte),
        _ => is_control(byte),
    }
}

const fn type_of(byte: u8) -> u8 {
    let letter = is_upper(byte) || is_lower(byte);
    (is_space(byte) as u8)
        | (letter as u8) << 1
        | (is_lower(byte) as u8) << 2
        | (is_digit(byte) as u8) << 3
        | (is_word(byte) as u8) << 4
}

const fn build() -> [u8; LENGTH] {
    let mut tables = [0; LENGTH];
    let mut index = 0;
    while index < 256 {
        let byte = index as u8;
        tables[index] = lower(byte);
        tables[256 + index] = other_case(byte);
        tables[TYPES + index] = type_of(byte);
        let mut class = 0;
        while class < 10 {
            if in_class(class, byte) {
                tables[CLASSES + 32 * class + index / 8] |= 1 << (index % 8);
            }
            class += 1;
        }
        index += 1;
    }
    tables
}
