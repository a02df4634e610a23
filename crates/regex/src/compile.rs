//! Patterns: options, compilation, and what a compiled one says of itself.

use std::borrow::Cow;
use std::ffi::c_void;
use std::ptr::NonNull;

use pcre2_sys as sys;

use crate::dialect;
use crate::tables::LATIN1;

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newline {
    /// `cr`
    Cr,
    /// `lf`
    Lf,
    /// `crlf`
    Crlf,
    /// `anycrlf`: one of these three.
    AnyCrlf,
    /// `any`: also what Unicode has.
    Any,
    /// `nul`
    Nul,
}

/// What `\R` matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineBreaks {
    /// `bsr_anycrlf`
    AnyCrlf,
    /// `bsr_unicode`
    Unicode,
}

/// Options of a pattern, by the names that `re` gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of re:compile's options")]
pub struct CompileOptions {
    pub unicode: bool,
    pub anchored: bool,
    pub caseless: bool,
    pub dollar_endonly: bool,
    pub dotall: bool,
    pub extended: bool,
    pub firstline: bool,
    pub multiline: bool,
    pub no_auto_capture: bool,
    pub dupnames: bool,
    pub ungreedy: bool,
    pub ucp: bool,
    pub never_utf: bool,
    pub no_start_optimize: bool,
    /// `{newline, _}`; none: a line feed.
    pub newline: Option<Newline>,
    /// `bsr_anycrlf`, `bsr_unicode`; none: what Unicode has.
    pub line_breaks: Option<LineBreaks>,
}

impl CompileOptions {
    fn bits(&self) -> u32 {
        let flags = [
            (self.unicode, sys::PCRE2_UTF),
            (self.anchored, sys::PCRE2_ANCHORED),
            (self.caseless, sys::PCRE2_CASELESS),
            (self.dollar_endonly, sys::PCRE2_DOLLAR_ENDONLY),
            (self.dotall, sys::PCRE2_DOTALL),
            (self.extended, sys::PCRE2_EXTENDED),
            (self.firstline, sys::PCRE2_FIRSTLINE),
            (self.multiline, sys::PCRE2_MULTILINE),
            (self.no_auto_capture, sys::PCRE2_NO_AUTO_CAPTURE),
            (self.dupnames, sys::PCRE2_DUPNAMES),
            (self.ungreedy, sys::PCRE2_UNGREEDY),
            (self.ucp, sys::PCRE2_UCP),
            (self.never_utf, sys::PCRE2_NEVER_UTF),
            (self.no_start_optimize, sys::PCRE2_NO_START_OPTIMIZE),
        ];
        flags.iter().filter(|(set, _)| *set).fold(0, |bits, (_, bit)| bits | bit)
    }
}

/// Why a pattern does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// What is wrong, in the words of PCRE 8.
    pub message: String,
    /// Where, in bytes.
    pub position: usize,
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Regex {
    pub(crate) code: NonNull<sys::pcre2_code_8>,
    groups: u32,
    names: Vec<(Vec<u8>, u32)>,
}

// SAFETY: compiled code is not changed by matching with it (the library's promise), so any thread may use it.
unsafe impl Send for Regex {}
// SAFETY: as above.
unsafe impl Sync for Regex {}

impl Drop for Regex {
    fn drop(&mut self) {
        // SAFETY: the code came from `pcre2_compile_8` and is not used after this.
        unsafe { sys::pcre2_code_free_8(self.code.as_ptr()) }
    }
}

/// Settings of the compiler, freed when dropped.
struct Context(NonNull<sys::pcre2_compile_context_8>);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context was created by the library and is not used after this.
        unsafe { sys::pcre2_compile_context_free_8(self.0.as_ptr()) }
    }
}

/// Parentheses within each other that PCRE 8 has the memory for, as OTP builds it.
const DEEPEST_NEST: u32 = 798;
/// Most places where a pattern is changed so that PCRE2 takes it.
const CHANGES: usize = 64;

fn context(options: &CompileOptions) -> Option<Context> {
    // SAFETY: a context takes no arguments that could be wrong; null asks for the usual memory.
    let context = Context(NonNull::new(unsafe { sys::pcre2_compile_context_create_8(std::ptr::null_mut()) })?);
    // SAFETY: the context is live, and the tables are static and in the library's layout.
    unsafe {
        sys::pcre2_set_character_tables_8(context.0.as_ptr(), LATIN1.as_ptr());
        sys::pcre2_set_compile_extra_options_8(context.0.as_ptr(), sys::PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK);
        sys::pcre2_set_max_varlookbehind_8(context.0.as_ptr(), 0);
        sys::pcre2_set_parens_nest_limit_8(context.0.as_ptr(), DEEPEST_NEST);
    }
    if let Some(newline) = options.newline {
        let value = match newline {
            Newline::Cr => sys::PCRE2_NEWLINE_CR,
            Newline::Lf => sys::PCRE2_NEWLINE_LF,
            Newline::Crlf => sys::PCRE2_NEWLINE_CRLF,
            Newline::AnyCrlf => sys::PCRE2_NEWLINE_ANYCRLF,
            Newline::Any => sys::PCRE2_NEWLINE_ANY,
            Newline::Nul => sys::PCRE2_NEWLINE_NUL,
        };
        // SAFETY: the context is live.
        unsafe { sys::pcre2_set_newline_8(context.0.as_ptr(), value) };
    }
    if let Some(line_breaks) = options.line_breaks {
        let value = match line_breaks {
            LineBreaks::AnyCrlf => sys::PCRE2_BSR_ANYCRLF,
            LineBreaks::Unicode => sys::PCRE2_BSR_UNICODE,
        };
        // SAFETY: the context is live.
        unsafe { sys::pcre2_set_bsr_8(context.0.as_ptr(), value) };
    }
    Some(context)
}

/// The code of a pattern, or the number and place of an error.
fn compile(
    pattern: &[u8],
    options: &CompileOptions,
    context: &Context,
) -> Result<NonNull<sys::pcre2_code_8>, (i32, usize)> {
    let (mut error, mut position) = (0, 0);
    // SAFETY: pattern and context live through the call; the library checks the pattern's UTF-8 itself.
    let code = unsafe {
        sys::pcre2_compile_8(
            pattern.as_ptr(),
            pattern.len(),
            options.bits(),
            &raw mut error,
            &raw mut position,
            context.0.as_ptr(),
        )
    };
    NonNull::new(code).ok_or((error, position))
}

impl Regex {
    /// Compiles a pattern. With `unicode` it must be UTF-8.
    ///
    /// # Errors
    /// What is wrong with the pattern.
    pub fn new(pattern: &[u8], options: &CompileOptions) -> Result<Regex, CompileError> {
        let no_memory = || CompileError { message: "failed to get memory".to_owned(), position: 0 };
        let context = context(options).ok_or_else(no_memory)?;
        // PCRE2 looks for the first byte of a match as if the tables had no letters above ASCII.
        let careful = options.unicode && !options.ucp && dialect::uses_tables(pattern);
        let options = &CompileOptions { no_start_optimize: options.no_start_optimize || careful, ..*options };
        let mut changed = Cow::Borrowed(pattern);
        // Where bytes were put in, and how many (or taken out, below 0).
        let mut edits: Vec<(usize, isize)> = Vec::new();
        if let Some((other, places)) = dialect::escape_braces(pattern) {
            changed = other.into();
            edits.extend(places.into_iter().map(|place| (place, 1)));
        }
        for _ in 0..CHANGES {
            let error = match compile(&changed, options, &context) {
                Ok(code) => return Ok(Regex::of_code(code)),
                Err(error) => error,
            };
            let position = error.1.min(changed.len());
            match dialect::change(error.0, &changed, position) {
                Some((other, by)) => {
                    edits.push((position, by));
                    changed = other.into();
                }
                None => {
                    let (message, position) = dialect::describe(error.0, &changed, position);
                    let shift: isize = edits.iter().filter(|edit| edit.0 <= position).map(|edit| edit.1).sum();
                    let position = position.checked_add_signed(-shift).unwrap_or(0).min(pattern.len());
                    return Err(CompileError { message, position });
                }
            }
        }
        Err(CompileError { message: "regular expression is too complicated".to_owned(), position: 0 })
    }

    fn of_code(code: NonNull<sys::pcre2_code_8>) -> Regex {
        let mut regex = Regex { code, groups: 0, names: Vec::new() };
        regex.groups = regex.number(sys::PCRE2_INFO_CAPTURECOUNT);
        regex.names = regex.read_names();
        regex
    }

    /// A number that the compiled pattern knows of itself.
    fn number(&self, what: u32) -> u32 {
        let mut value = 0u32;
        // SAFETY: each `what` of this file is answered by a 32-bit number.
        unsafe { sys::pcre2_pattern_info_8(self.code.as_ptr(), what, (&raw mut value).cast::<c_void>()) };
        value
    }

    fn read_names(&self) -> Vec<(Vec<u8>, u32)> {
        let (count, size) = (self.number(sys::PCRE2_INFO_NAMECOUNT), self.number(sys::PCRE2_INFO_NAMEENTRYSIZE));
        let mut table: *const u8 = std::ptr::null();
        // SAFETY: this is answered by the address of the table, which lives as long as the code.
        unsafe {
            let answer = (&raw mut table).cast::<c_void>();
            sys::pcre2_pattern_info_8(self.code.as_ptr(), sys::PCRE2_INFO_NAMETABLE, answer);
        }
        if table.is_null() || size < 3 {
            return Vec::new();
        }
        // SAFETY: the table has `count` entries of `size` bytes.
        let table = unsafe { std::slice::from_raw_parts(table, count as usize * size as usize) };
        let name = |entry: &[u8]| {
            let end = entry[2..].iter().position(|byte| *byte == 0).map_or(entry.len(), |length| 2 + length);
            (entry[2..end].to_vec(), u32::from(entry[0]) << 8 | u32::from(entry[1]))
        };
        table.chunks_exact(size as usize).map(name).collect()
    }

    /// How many groups the pattern has, without the whole match.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Names of groups with the groups' numbers, by name.
    pub fn names(&self) -> &[(Vec<u8>, u32)] {
        &self.names
    }

    /// Whether a line may end in carriage return and line feed.
    pub fn has_crlf(&self) -> bool {
        let newline = self.number(sys::PCRE2_INFO_NEWLINE);
        [sys::PCRE2_NEWLINE_ANY, sys::PCRE2_NEWLINE_CRLF, sys::PCRE2_NEWLINE_ANYCRLF].contains(&newline)
    }
}
