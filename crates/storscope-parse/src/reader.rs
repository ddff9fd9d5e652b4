//! The file as a whole: its header, and its rows found block by block.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use memchr::{memchr, memchr2};

use crate::block::{Block, Span};
use crate::error::ReadError;
use crate::header::Header;
use crate::source::Source;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// How every header begins, but for quotes: `(PDH-CSV 4.0)`, `(PDH-TSV 4.0)`.
const TITLE: &[u8] = b"(PDH-";
const WINDOW_BYTES: usize = 256 << 10;
/// How much of a line must be seen to tell what kind of line it is.
const PEEK_BYTES: usize = 64;

/// What is refused, so that hostile input yields an error and neither a wait nor a full memory.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes in a line. A header of a million columns has about 64 bytes a name.
    pub line_bytes: usize,
    /// Columns in the header.
    pub columns: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line_bytes: 64 << 20, columns: 1_000_000 }
    }
}

/// A wide counter CSV: a header, then rows.
pub struct WideCsv<S> {
    source: Arc<S>,
    header: Header,
    limits: Limits,
    window: Window,
    /// The first byte that is not yet assigned to a line.
    position: u64,
    /// Lines before `position`.
    lines: u64,
    blank_lines: u64,
    section_end: Option<u64>,
}

impl WideCsv<File> {
    /// Opens the file at `path` and reads the header, which is looked for from byte `offset` on.
    pub fn open(path: &Path, offset: u64, limits: Limits) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|source| ReadError::Io { offset: 0, source })?;
        Self::new(file, offset, limits)
    }
}

impl<S: Source> WideCsv<S> {
    /// Reads the header of `source`, which is looked for from byte `offset` on.
    pub fn new(source: S, offset: u64, limits: Limits) -> Result<Self, ReadError> {
        let mut reader = Self {
            source: Arc::new(source),
            header: Header { names: Vec::new(), separator: b',', line: 0 },
            limits,
            window: Window { bytes: vec![0; WINDOW_BYTES], start: 0, length: 0 },
            position: offset,
            lines: 0,
            blank_lines: 0,
            section_end: None,
        };
        reader.skip_byte_order_mark()?;
        reader.header = reader.read_header()?;
        Ok(reader)
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Blank lines met so far; typeperf writes one before its header.
    pub fn blank_lines(&self) -> u64 {
        self.blank_lines
    }

    /// Where the next capture begins when the rows ended at another header (`(PDH-`, also behind a byte-order mark or in
    /// a line that was not finished), as in files that were joined or appended to. `None` when they ended with the file,
    /// or have not ended.
    pub fn section_end(&self) -> Option<u64> {
        self.section_end
    }

    /// The next rows, at most `max_rows`; `None` after the last. Only line ends are looked for.
    pub fn next_block(&mut self, max_rows: usize) -> Result<Option<Block<S>>, ReadError> {
        let mut rows = Vec::new();
        let mut first_line = 0;
        while rows.len() < max_rows && self.section_end.is_none() {
            let Some(line) = self.next_line()? else { break };
            if line.is_header {
                self.section_end = Some(line.span.start);
                break;
            }
            if rows.is_empty() {
                first_line = self.lines;
            }
            rows.push(line.span);
        }
        let block = Block { source: Arc::clone(&self.source), rows, separator: self.header.separator, first_line };
        Ok((block.rows() > 0).then_some(block))
    }

    fn skip_byte_order_mark(&mut self) -> Result<(), ReadError> {
        let start = self.window.load(&*self.source, self.position)?;
        if start.starts_with(BYTE_ORDER_MARK) {
            self.position += BYTE_ORDER_MARK.len() as u64;
        }
        Ok(())
    }

    fn read_header(&mut self) -> Result<Header, ReadError> {
        let Span { start, length } = self.next_line()?.ok_or(ReadError::NoHeader)?.span;
        let mut text = vec![0; length];
        let count = self.source.read_at(&mut text, start).map_err(|source| ReadError::Io { offset: start, source })?;
        if count < length {
            return Err(ReadError::Shrunk { offset: start + length as u64 });
        }
        let text = text.strip_suffix(b"\n").unwrap_or(&text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Header::parse(text, self.lines, start, self.limits.columns)
    }

    /// The next line that is not blank.
    fn next_line(&mut self) -> Result<Option<Line>, ReadError> {
        loop {
            let peeked = self.window.at_least(&*self.source, self.position, PEEK_BYTES)?;
            if peeked.is_empty() {
                return Ok(None);
            }
            let start = &peeked[..peeked.len().min(PEEK_BYTES)];
            let start = &start[..memchr(b'\n', start).map_or(start.len(), |end| end + 1)];
            let seen = start.len();
            let is_blank = start.trim_ascii().is_empty();
            let opening = opening_length(start);
            let is_header = start[opening..].starts_with(TITLE);
            let title = if is_header { opening + TITLE.len() } else { 0 };
            let span = Span { start: self.position, length: self.line_length(title)? };
            self.position += span.length as u64;
            self.lines += 1;
            if !is_blank || span.length > seen {
                return Ok(Some(Line { span, is_header }));
            }
            self.blank_lines += 1;
        }
    }

    /// Bytes from the current position to the end of the line, with it, or to the header of another capture that was
    /// joined to an unfinished line. Its own title, which ends at `title`, is not one.
    fn line_length(&mut self, title: usize) -> Result<usize, ReadError> {
        let mut length = title;
        loop {
            let bytes = self.window.at_least(&*self.source, self.position + length as u64, 1)?;
            let found = memchr2(b'\n', b'(', bytes);
            let is_end = bytes.is_empty() || found.is_some_and(|at| bytes[at] == b'\n');
            length += found.map_or(bytes.len(), |at| at + usize::from(is_end));
            if length > self.limits.line_bytes {
                return Err(ReadError::LineTooLong {
                    line: self.lines + 1,
                    offset: self.position,
                    limit: self.limits.line_bytes,
                });
            }
            if is_end {
                return Ok(length);
            }
            if found.is_some() {
                let at = self.position + length as u64;
                if self.window.at_least(&*self.source, at, TITLE.len())?.starts_with(TITLE) {
                    return Ok(length - self.opening_before(at)?.min(length));
                }
                length += 1;
            }
        }
    }

    /// How many bytes before a title at `offset` belong to it: its quote, and the byte-order mark of its file.
    fn opening_before(&self, offset: u64) -> Result<usize, ReadError> {
        let mut before = [0; BYTE_ORDER_MARK.len() + 1];
        let start = offset.saturating_sub(before.len() as u64);
        let before = &mut before[..(offset - start) as usize];
        self.source.read_at(before, start).map_err(|source| ReadError::Io { offset: start, source })?;
        let rest = before.strip_suffix(b"\"").unwrap_or(before);
        let rest = rest.strip_suffix(BYTE_ORDER_MARK).unwrap_or(rest);
        Ok(before.len() - rest.len())
    }
}

/// How many bytes of `line` may stand before a title: a byte-order mark, blanks, quotes.
fn opening_length(line: &[u8]) -> usize {
    let rest = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii_start();
    let quotes = rest.iter().take_while(|&&byte| byte == b'"').count();
    line.len() - rest.len() + quotes
}

struct Line {
    span: Span,
    is_header: bool,
}

/// The part of the file that is looked at for line ends; small enough to stay in the cache.
struct Window {
    bytes: Vec<u8>,
    start: u64,
    length: usize,
}

impl Window {
    /// The bytes from `offset` on that are at hand, at least `wanted` of them unless the file ends before.
    fn at_least(&mut self, source: &impl Source, offset: u64, wanted: usize) -> Result<&[u8], ReadError> {
        let skipped = offset.checked_sub(self.start).map_or(usize::MAX, |skipped| skipped as usize);
        if skipped <= self.length && self.length - skipped >= wanted {
            return Ok(&self.bytes[skipped..self.length]);
        }
        self.load(source, offset)
    }

    fn load(&mut self, source: &impl Source, offset: u64) -> Result<&[u8], ReadError> {
        self.start = offset;
        self.length = source.read_at(&mut self.bytes, offset).map_err(|source| ReadError::Io { offset, source })?;
        Ok(&self.bytes[..self.length])
    }
}
