//! Matching.

use std::cell::RefCell;
use std::ptr::NonNull;

use pcre2_sys as sys;

use crate::compile::Regex;

/// First byte of a match and the byte after it; none for a group that took no part. With `\K` in a lookaround the
/// end may stand before the beginning.
pub type Span = Option<(usize, usize)>;

/// Options of a match, by the names that `re` gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of re:run's options")]
pub struct MatchOptions {
    pub anchored: bool,
    pub notbol: bool,
    pub noteol: bool,
    pub notempty: bool,
    pub notempty_atstart: bool,
    pub match_limit: Option<u32>,
    pub match_limit_recursion: Option<u32>,
}

impl MatchOptions {
    fn bits(&self) -> u32 {
        let flags = [
            (self.anchored, sys::PCRE2_ANCHORED),
            (self.notbol, sys::PCRE2_NOTBOL),
            (self.noteol, sys::PCRE2_NOTEOL),
            (self.notempty, sys::PCRE2_NOTEMPTY),
            (self.notempty_atstart, sys::PCRE2_NOTEMPTY_ATSTART),
        ];
        flags.iter().filter(|(set, _)| *set).fold(0, |bits, (_, bit)| bits | bit)
    }
}

/// Why there is neither a match nor none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchError {
    /// The offset is behind the subject's end, or inside a character.
    BadOffset,
    /// The subject is not UTF-8 and the pattern is for `unicode`.
    BadUtf8,
    /// The match took more steps than `match_limit` allows.
    MatchLimit,
    /// The match took more depth than `match_limit_recursion` allows, or more memory than the library's limit.
    RecursionLimit,
    /// The pattern calls itself without end.
    RecursionLoop,
    /// The library failed: no memory, as a rule.
    Failed,
}

/// Memory for matches; kept by a thread for the next one.
struct MatchData {
    data: NonNull<sys::pcre2_match_data_8>,
    pairs: u32,
}

impl MatchData {
    fn new(pairs: u32) -> Option<MatchData> {
        // SAFETY: null asks for the usual memory.
        let data = NonNull::new(unsafe { sys::pcre2_match_data_create_8(pairs, std::ptr::null_mut()) })?;
        Some(MatchData { data, pairs })
    }
}

impl Drop for MatchData {
    fn drop(&mut self) {
        // SAFETY: the data was created by the library and is not used after this.
        unsafe { sys::pcre2_match_data_free_8(self.data.as_ptr()) }
    }
}

/// Limits of a match, freed when dropped.
struct Limits(NonNull<sys::pcre2_match_context_8>);

impl Limits {
    /// None when the library's own limits will do.
    fn new(options: &MatchOptions) -> Option<Limits> {
        if options.match_limit.is_none() && options.match_limit_recursion.is_none() {
            return None;
        }
        // SAFETY: null asks for the usual memory.
        let limits = Limits(NonNull::new(unsafe { sys::pcre2_match_context_create_8(std::ptr::null_mut()) })?);
        // SAFETY: the context is live.
        unsafe {
            if let Some(limit) = options.match_limit {
                sys::pcre2_set_match_limit_8(limits.0.as_ptr(), limit);
            }
            if let Some(limit) = options.match_limit_recursion {
                sys::pcre2_set_depth_limit_8(limits.0.as_ptr(), limit);
            }
        }
        Some(limits)
    }
}

impl Drop for Limits {
    fn drop(&mut self) {
        // SAFETY: the context was created by the library and is not used after this.
        unsafe { sys::pcre2_match_context_free_8(self.0.as_ptr()) }
    }
}

/// Groups that the memory which a thread keeps has room for.
const KEPT_PAIRS: u32 = 64;
/// Bytes above which memory for backtracking is given back.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    static KEPT: RefCell<Option<MatchData>> = const { RefCell::new(None) };
}

impl Regex {
    /// The first match at or behind byte `start`: the whole match, then each group up to the last that took part.
    ///
    /// # Errors
    /// See [`MatchError`].
    pub fn find(&self, subject: &[u8], start: usize, options: &MatchOptions) -> Result<Option<Vec<Span>>, MatchError> {
        self.run(subject, start, options, 0)
    }

    /// As [`Regex::find`], in a text that need not be looked through for what is not UTF-8.
    ///
    /// # Errors
    /// See [`MatchError`].
    pub fn find_in_text(
        &self,
        subject: &str,
        start: usize,
        options: &MatchOptions,
    ) -> Result<Option<Vec<Span>>, MatchError> {
        if !subject.is_char_boundary(start) {
            return Err(MatchError::BadOffset);
        }
        self.run(subject.as_bytes(), start, options, sys::PCRE2_NO_UTF_CHECK)
    }

    fn run(
        &self,
        subject: &[u8],
        start: usize,
        options: &MatchOptions,
        more: u32,
    ) -> Result<Option<Vec<Span>>, MatchError> {
        let pairs = self.groups() + 1;
        let kept = KEPT.with(|kept| kept.borrow_mut().take()).filter(|kept| kept.pairs >= pairs);
        let data = kept.or_else(|| MatchData::new(pairs.max(KEPT_PAIRS))).ok_or(MatchError::Failed)?;
        let limits = Limits::new(options);
        let context = limits.as_ref().map_or(std::ptr::null_mut(), |limits| limits.0.as_ptr());
        // SAFETY: code, subject, data and context live through the call; the library checks offset and UTF-8, except
        // with the option that stands for a text of whole characters and an offset at one.
        let found = unsafe {
            sys::pcre2_match_8(
                self.code.as_ptr(),
                subject.as_ptr(),
                subject.len(),
                start,
                options.bits() | more,
                data.data.as_ptr(),
                context,
            )
        };
        let result = match found {
            1.. => {
                let count = (found as usize).min(data.pairs as usize);
                // SAFETY: after a match the data holds `count` pairs at least.
                let ends = unsafe {
                    std::slice::from_raw_parts(sys::pcre2_get_ovector_pointer_8(data.data.as_ptr()), 2 * count)
                };
                let span = |pair: &[usize]| (pair[0] != usize::MAX).then_some((pair[0], pair[1]));
                Ok(Some(ends.chunks_exact(2).map(span).collect()))
            }
            sys::PCRE2_ERROR_NOMATCH => Ok(None),
            sys::PCRE2_ERROR_MATCHLIMIT => Err(MatchError::MatchLimit),
            sys::PCRE2_ERROR_DEPTHLIMIT | sys::PCRE2_ERROR_HEAPLIMIT => Err(MatchError::RecursionLimit),
            sys::PCRE2_ERROR_RECURSELOOP => Err(MatchError::RecursionLoop),
            sys::PCRE2_ERROR_BADOFFSET | sys::PCRE2_ERROR_BADUTFOFFSET => Err(MatchError::BadOffset),
            sys::PCRE2_ERROR_UTF8_ERR21..=sys::PCRE2_ERROR_UTF8_ERR1 => Err(MatchError::BadUtf8),
            _ => Err(MatchError::Failed),
        };
        // SAFETY: the data is live.
        let bytes = unsafe { sys::pcre2_get_match_data_heapframes_size_8(data.data.as_ptr()) };
        if data.pairs <= KEPT_PAIRS && bytes <= KEPT_BYTES {
            KEPT.with(|kept| *kept.borrow_mut() = Some(data));
        }
        result
    }
}
