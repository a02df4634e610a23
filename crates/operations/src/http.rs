//! Lines of HTTP as terms, for the packet modes `http` and `httph`.

use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The first line of a request.
    Request,
    /// The first line of a response.
    Response,
    /// A header.
    Header,
    /// The empty line behind the headers.
    EndOfHeaders,
    /// None of these.
    Error,
}

/// Methods that are atoms.
const METHODS: [&str; 7] = ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE"];

/// Names of headers that are atoms; their numbers begin with 1.
const HEADERS: [&str; 52] = [
    "Cache-Control",
    "Connection",
    "Date",
    "Pragma",
    "Transfer-Encoding",
    "Upgrade",
    "Via",
    "Accept",
    "Accept-Charset",
    "Accept-Encoding",
    "Accept-Language",
    "Authorization",
    "From",
    "Host",
    "If-Modified-Since",
    "If-Match",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Max-Forwards",
    "Proxy-Authorization",
    "Range",
    "Referer",
    "User-Agent",
    "Age",
    "Location",
    "Proxy-Authenticate",
    "Public",
    "Retry-After",
    "Server",
    "Vary",
    "Warning",
    "Www-Authenticate",
    "Allow",
    "Content-Base",
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-Md5",
    "Content-Range",
    "Content-Type",
    "Etag",
    "Expires",
    "Last-Modified",
    "Accept-Ranges",
    "Set-Cookie",
    "Set-Cookie2",
    "X-Forwarded-For",
    "Cookie",
    "Keep-Alive",
    "Proxy-Connection",
];

/// Longest name of a header that is spelled with capitals, in bytes.
const LONGEST_NAME: usize = 50;

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_token(byte: u8) -> bool {
    byte > b' ' && byte < 127 && !b"()<>@,;:\\\"/[]?={}".contains(&byte)
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|byte| is_blank(**byte)).count();
    &bytes[blanks..]
}

/// Bytes before and from the first one that is not `wanted`.
fn span(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.iter().take_while(|byte| wanted(**byte)).count())
}

/// A decimal number, if these bytes are one.
fn decimal(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(digits).ok()?.parse().ok()
}

/// `Major.Minor` behind `HTTP/`, and what follows.
fn version(bytes: &[u8]) -> Option<((i64, i64), &[u8])> {
    let (major, rest) = span(bytes, |byte| byte.is_ascii_digit());
    let (minor, rest) = span(rest.strip_prefix(b".")?, |byte| byte.is_ascii_digit());
    Some(((decimal(major)?, decimal(minor)?), rest))
}

/// Makes terms of text, as lists or binaries.
struct Writer<'h, H: Build + ?Sized> {
    heap: &'h mut H,
    binary: bool,
}

impl<H: Build + ?Sized> Writer<'_, H> {
    fn text(&mut self, bytes: &[u8]) -> Term {
        match self.binary {
            true => self.heap.binary(bytes),
            false => self.heap.list(bytes.iter().map(|byte| Term::small(i64::from(*byte)))),
        }
    }

    fn version(&mut self, (major, minor): (i64, i64)) -> Term {
        self.heap.tuple(&[Term::small(major), Term::small(minor)])
    }

    fn uri(&mut self, uri: &[u8]) -> Term {
        if uri == b"*" {
            return known_atom("*");
        }
        if uri.starts_with(b"/") {
            let path = self.text(uri);
            return self.heap.tuple(&[known_atom("abs_path"), path]);
        }
        for (scheme, prefix) in [("http", &b"http://"[..]), ("https", b"https://")] {
            if let Some((start, rest)) = uri.split_at_checked(prefix.len())
                && start.eq_ignore_ascii_case(prefix)
            {
                return self.absolute(scheme, rest);
            }
        }
        match uri.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                let (scheme, rest) = (self.text(&uri[..colon]), self.text(&uri[colon + 1..]));
                self.heap.tuple(&[known_atom("scheme"), scheme, rest])
            }
            None => self.text(uri),
        }
    }

    fn absolute(&mut self, scheme: &str, rest: &[u8]) -> Term {
        let (authority, path) = span(rest, |byte| byte != b'/');
        let (host, port) = span(authority, |byte| byte != b':');
        let port = port.strip_prefix(b":").and_then(decimal).map_or(atoms::UNDEFINED, Term::small);
        let host = self.text(host);
        let path = self.text(if path.is_empty() { b"/" } else { path });
        self.heap.tuple(&[known_atom("absoluteURI"), known_atom(scheme), host, port, path])
    }

    /// The first line of a message.
    fn start(&mut self, line: &[u8]) -> Option<(Line, Term)> {
        if let Some(rest) = line.strip_prefix(b"HTTP/") {
            let (version, rest) = version(rest)?;
            if !rest.first().is_some_and(|byte| is_blank(*byte)) {
                return None;
            }
            let (status, rest) = span(trim_start(rest), |byte| byte.is_ascii_digit());
            let status = decimal(status)?;
            let phrase = self.text(trim_start(rest));
            let version = self.version(version);
            return Some((
                Line::Response,
                self.heap.tuple(&[known_atom("http_response"), version, Term::small(status), phrase]),
            ));
        }
        let (method, rest) = span(line, is_token);
        if method.is_empty() || !rest.first().is_some_and(|byte| is_blank(*byte)) {
            return None;
        }
        let (uri, rest) = span(trim_start(rest), |byte| !is_blank(byte));
        if uri.is_empty() {
            return None;
        }
        let rest = trim_start(rest);
        let version = match rest.is_empty() {
            true => (0, 9),
            false => version(rest.strip_prefix(b"HTTP/")?).filter(|(_, rest)| trim_start(rest).is_empty())?.0,
        };
        let method = match METHODS.iter().find(|known| known.as_bytes() == method) {
            Some(known) => known_atom(known),
            None => self.text(method),
        };
        let (uri, version) = (self.uri(uri), self.version(version));
        Some((Line::Request, self.heap.tuple(&[known_atom("http_request"), method, uri, version])))
    }

    fn header(&mut self, line: &[u8]) -> Option<Term> {
        let (name, rest) = span(line, is_token);
        let value = trim_start(rest.strip_prefix(b":")?);
        let spelled = spelled(name);
        let number = HEADERS.iter().position(|known| known.as_bytes() == spelled);
        let field = match number {
            Some(number) => known_atom(HEADERS[number]),
            None => self.text(&spelled),
        };
        let (name, value) = (self.text(name), self.text(value));
        let number = Term::small(number.map_or(0, |number| number as i64 + 1));
        Some(self.heap.tuple(&[known_atom("http_header"), number, field, name, value]))
    }
}

/// A header's name with capitals at the beginnings of its words.
fn spelled(name: &[u8]) -> Vec<u8> {
    if name.len() > LONGEST_NAME {
        return name.to_vec();
    }
    let mut at_start = true;
    let spell = |byte: &u8| {
        let spelled = if at_start { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
        // A hyphen behind a hyphen begins no word.
        at_start = *byte == b'-' && !at_start;
        spelled
    };
    name.iter().map(spell).collect()
}

/// A line as a term. `line` ends in a line feed; `is_header` says where in a message it stands.
pub fn decode<H: Build + ?Sized>(heap: &mut H, line: &[u8], is_header: bool, binary: bool) -> (Line, Term) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let mut writer = Writer { heap, binary };
    let decoded = match is_header {
        true if text.is_empty() => Some((Line::EndOfHeaders, known_atom("http_eoh"))),
        true => writer.header(text).map(|term| (Line::Header, term)),
        false => writer.start(text),
    };
    decoded.unwrap_or_else(|| {
        let line = writer.text(line);
        (Line::Error, writer.heap.tuple(&[known_atom("http_error"), line]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_headers_are_spelled_alike() {
        assert_eq!(spelled(b"x-FOO-bar"), b"X-Foo-Bar");
        assert_eq!(spelled(&[b'a'; 51]), [b'a'; 51]);
    }

    #[test]
    fn versions_need_both_numbers() {
        assert_eq!(version(b"1.1 x"), Some(((1, 1), &b" x"[..])));
        assert_eq!(version(b"1."), None);
        assert_eq!(version(b"11"), None);
    }
}
