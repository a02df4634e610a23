//! Regular expressions as Erlang's `re` has them: a safe wrapper of PCRE2, set up to behave like the PCRE 8 of OTP 25
//! where the two can be made to agree. Positions are byte offsets.
//!
//! The wrapper stands here, in a crate of its own, because no other safe one gives newline conventions, limits,
//! duplicate names, or character tables, all of which `re` has.

mod compile;
mod dialect;
mod find;
mod tables;

pub use compile::{CompileError, CompileOptions, LineBreaks, Newline, Regex};
pub use find::{MatchError, MatchOptions, Span};

/// Version of the library, as `10.46 2025-08-27`.
pub fn version() -> String {
    let mut text = [0u8; 64];
    // SAFETY: the version's text is at most 24 bytes long, with its zero byte.
    let length = unsafe { pcre2_sys::pcre2_config_8(pcre2_sys::PCRE2_CONFIG_VERSION, text.as_mut_ptr().cast()) };
    let length = usize::try_from(length).unwrap_or(0).saturating_sub(1);
    String::from_utf8_lossy(&text[..length.min(text.len())]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(pattern: &str, subject: &str) -> Option<Vec<Span>> {
        let regex = Regex::new(pattern.as_bytes(), &CompileOptions::default()).expect("the pattern is right");
        regex.find(subject.as_bytes(), 0, &MatchOptions::default()).expect("no limit is reached")
    }

    #[test]
    fn groups_that_took_no_part_are_unset() {
        assert_eq!(first("(a)|(b)", "xb"), Some(vec![Some((1, 2)), None, Some((1, 2))]));
        assert_eq!(first("a", "b"), None);
    }

    #[test]
    fn names_come_sorted_with_their_groups() {
        let regex = Regex::new(b"(?<y>a)(?<x>b)", &CompileOptions::default()).unwrap();
        assert_eq!(regex.names(), [(b"x".to_vec(), 2), (b"y".to_vec(), 1)]);
    }

    #[test]
    fn invalid_utf8_is_refused() {
        let options = CompileOptions { unicode: true, ..CompileOptions::default() };
        let regex = Regex::new(b".", &options).unwrap();
        let found = regex.find(&[0xff, 0xfe], 0, &MatchOptions::default());
        assert_eq!(found, Err(MatchError::BadUtf8));
    }

    #[test]
    fn limits_are_told_apart() {
        let regex = Regex::new(b"(a+)*(?:b|c)", &CompileOptions::default()).unwrap();
        let options = MatchOptions { match_limit: Some(10), ..MatchOptions::default() };
        assert_eq!(regex.find(b"aaaaaaaaaaaaaaaa", 0, &options), Err(MatchError::MatchLimit));
    }

    #[test]
    fn letters_above_ascii_have_two_cases() {
        let options = CompileOptions { caseless: true, ..CompileOptions::default() };
        let regex = Regex::new(&[0xe5], &options).unwrap();
        assert!(regex.find(&[0xc5], 0, &MatchOptions::default()).unwrap().is_some());
    }

    #[test]
    fn what_only_pcre_8_takes_is_taken() {
        assert_eq!(first("\\j[\\w-.]+$", "ja-b.c"), Some(vec![Some((0, 6))]));
        assert_eq!(first("a{,2}{ 1}[{,2}]\\Q{,2}\\E\\x{41}", "a{,2}{ 1},{,2}A"), Some(vec![Some((0, 15))]));
        assert_eq!(first("(a)\\8[\\z\\C]\\91", "a8z91"), Some(vec![Some((0, 5)), Some((0, 1))]));
        assert_eq!(first("^\\c\u{7f}$", "?"), Some(vec![Some((0, 1))]));
        let error = Regex::new(b"\\j\\y(", &CompileOptions::default()).unwrap_err();
        assert_eq!((error.message.as_str(), error.position), ("missing )", 5));
    }

    #[test]
    fn latin_1_letters_are_letters_in_text_too() {
        let options = CompileOptions { unicode: true, ..CompileOptions::default() };
        let regex = Regex::new(b"x?\\w", &options).unwrap();
        assert_eq!(regex.find("\u{e5}".as_bytes(), 0, &MatchOptions::default()), Ok(Some(vec![Some((0, 2))])));
    }

    #[test]
    fn parentheses_nest_as_deep_as_in_otp() {
        let nested = |depth: usize| [vec![b'('; depth], vec![b')'; depth]].concat();
        assert!(Regex::new(&nested(798), &CompileOptions::default()).is_ok());
        let error = Regex::new(&nested(819), &CompileOptions::default()).unwrap_err();
        assert_eq!((error.message.as_str(), error.position), ("regular expression is too complicated", 799));
    }

    #[test]
    fn errors_speak_of_pcre_8() {
        let error = Regex::new(b"(", &CompileOptions::default()).unwrap_err();
        assert_eq!((error.message.as_str(), error.position), ("missing )", 1));
    }
}
