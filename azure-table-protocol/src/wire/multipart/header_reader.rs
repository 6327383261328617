//! The headers of the messages of a batch.

use super::MultipartError;
use super::head::{split_header, split_line};
use super::message::Message;

/// A header line.
#[derive(Debug, Clone, Copy)]
pub struct HeaderLine<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
    /// The line as sent, with its end if it has one. Empty if the line was not sent.
    text: &'a [u8],
}

impl<'a> HeaderLine<'a> {
    /// A line that was not sent.
    pub fn of(name: &'a [u8], value: &'a [u8]) -> Self {
        Self { name, value, text: &[] }
    }

    /// Reads the first line, and returns the rest. Accepts the same lines as [`Message::headers`], without the cost of
    /// a map.
    fn read(text: &'a [u8]) -> Result<(Self, &'a [u8]), MultipartError> {
        let (line, rest) = split_line(text);
        let (name, value) = split_header(line).ok_or(MultipartError::Head)?;
        let value = value.trim_ascii();
        let is_name = !name.is_empty() && name.iter().all(|byte| TOKEN_BYTES[usize::from(*byte)]);
        // Without an early end, which would prevent vector instructions.
        let is_value = value
            .iter()
            .fold(true, |is_value, byte| is_value & matches!(byte, b'\t' | b' '..=b'~' | 0x80..));
        let text = &text[..text.len() - rest.len()];
        if is_name && is_value {
            Ok((Self { name, value, text }, rest))
        } else {
            Err(MultipartError::Head)
        }
    }
}

/// Reads the headers of one message after the other. Those of a batch are mostly the same, so that a line is only read if
/// it differs from the line at its place in the last message.
#[derive(Debug, Default)]
pub struct HeaderReader<'a> {
    last: Vec<HeaderLine<'a>>,
}

impl<'a> HeaderReader<'a> {
    /// The headers of a message. More than `most` are an error.
    pub fn read(
        &mut self,
        message: &Message<'a>,
        most: usize,
    ) -> Result<&[HeaderLine<'a>], MultipartError> {
        let (mut rest, mut count) = (message.head.lines(), 0);
        while !rest.is_empty() {
            if count == most {
                return Err(MultipartError::Head);
            }
            let known = self.last.get(count).filter(|line| line.text.ends_with(b"\n"));
            match known.and_then(|line| rest.strip_prefix(line.text)) {
                Some(after) => rest = after,
                None => {
                    let (line, after) = HeaderLine::read(rest)?;
                    match self.last.get_mut(count) {
                        Some(known) => *known = line,
                        None => self.last.push(line),
                    }
                    rest = after;
                }
            }
            count += 1;
        }
        Ok(&self.last[..count])
    }
}

/// Whether each byte can be in the name of a header.
const TOKEN_BYTES: [bool; 256] = {
    let mut known = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        known[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~'
            );
        byte += 1;
    }
    known
};
