//! Lines out of chunks of bytes, none longer than a frame may be.

use super::super::{FRAME_BYTES_MAX, reply};

/// Collects bytes until a line feed ends them.
#[derive(Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Where the next line starts.
    start: usize,
    /// How far no line feed was found yet.
    searched: usize,
    /// Set while the rest of an overlong line is thrown away.
    skipping: bool,
}

impl Lines {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(chunk);
    }

    /// The next whole line without its end, or the answer to one that was too long.
    pub(super) fn next(&mut self) -> Option<Result<Vec<u8>, Vec<u8>>> {
        loop {
            let unread = self.buffer.get(self.searched..).unwrap_or_default();
            match memchr::memchr(b'\n', unread) {
                Some(found) => {
                    let end = self.searched + found;
                    let line = self.buffer.get(self.start..end).unwrap_or_default().to_vec();
                    (self.start, self.searched) = (end + 1, end + 1);
                    if std::mem::take(&mut self.skipping) {
                        continue;
                    }
                    return Some(Ok(line));
                }
                None => {
                    self.searched = self.buffer.len();
                    if self.searched - self.start <= FRAME_BYTES_MAX {
                        return None;
                    }
                    self.start = self.searched;
                    if !std::mem::replace(&mut self.skipping, true) {
                        let message = format!("The message is longer than {FRAME_BYTES_MAX} bytes");
                        return Some(Err(reply::error("null", reply::PARSE_ERROR, &message)));
                    }
                    return None;
                }
            }
        }
    }

    /// What stands behind the last line feed when the input ends.
    pub(super) fn rest(&mut self) -> Option<Vec<u8>> {
        let rest = self.buffer.get(self.start..).unwrap_or_default().to_vec();
        (!rest.is_empty() && !self.skipping).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lines: &mut Lines) -> Vec<Result<String, ()>> {
        std::iter::from_fn(|| lines.next())
            .map(|line| line.map(|line| String::from_utf8(line).unwrap()).map_err(drop))
            .collect()
    }

    #[test]
    fn lines_come_whole_however_the_chunks_fall() {
        let text = b"one\n\ntwo\r\nthree";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for chunk in text.chunks(size) {
                lines.push(chunk);
                found.extend(all(&mut lines));
            }
            assert_eq!(found, [Ok("one".into()), Ok(String::new()), Ok("two\r".into())], "{size}");
            assert_eq!(lines.rest().unwrap(), b"three");
        }
    }

    #[test]
    fn an_overlong_line_is_answered_once_and_the_next_is_read() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for _ in 0..(FRAME_BYTES_MAX / 1_000_000 + 40) {
            lines.push(&vec![b'x'; 1_000_000]);
            found.extend(all(&mut lines));
        }
        lines.push(b"\nnext\n");
        found.extend(all(&mut lines));
        assert_eq!(found, [Err(()), Ok("next".into())]);
    }
}
