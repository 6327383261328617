//! A reader of DER, the binary encoding of PFX files. Source: ITU-T X.690.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
/// `[0] EXPLICIT`
pub(super) const WRAPPED: u8 = 0xa0;
/// `[0] IMPLICIT OCTET STRING`
pub(super) const IMPLICIT_OCTETS: u8 = 0x80;

/// The bytes are not DER, or not of the expected kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The values in some bytes, one after the other.
#[derive(Clone)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a value: its tag and its content.
    pub(super) fn next(&mut self) -> Result<(u8, &'a [u8]), Malformed> {
        let (&[tag, length], mut rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        let length = match usize::from(length) {
            short @ ..=0x7f => short,
            // Four bytes of length are more than any file has. 0x80 is an indefinite length.
            long @ 0x81..=0x84 => {
                let (bytes, after) = rest.split_at_checked(long - 0x80).ok_or(Malformed)?;
                rest = after;
                bytes.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte))
            }
            _ => return Err(Malformed),
        };
        let (content, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok((tag, content))
    }

    /// Reads the content of a value with this tag.
    pub(super) fn value(&mut self, tag: u8) -> Result<&'a [u8], Malformed> {
        let (found, content) = self.next()?;
        if found == tag { Ok(content) } else { Err(Malformed) }
    }

    pub(super) fn inside(&mut self, tag: u8) -> Result<Self, Malformed> {
        self.value(tag).map(Self)
    }

    pub(super) fn number(&mut self) -> Result<u32, Malformed> {
        let bytes = self.value(INTEGER)?;
        let bytes = bytes.strip_prefix(&[0]).unwrap_or(bytes);
        if bytes.len() > 4 {
            return Err(Malformed);
        }
        Ok(bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_bad_lengths_refused() {
        let mut reader = Reader(&[0x30, 0x03, 0x02, 0x01, 0x07, 0x04, 0x81, 0x01, 0xff]);
        assert_eq!(reader.inside(SEQUENCE).and_then(|mut it| it.number()), Ok(7));
        assert_eq!(reader.value(OCTETS), Ok(&[0xff][..]));
        assert!(reader.is_empty());
        let malformed: [&[u8]; 6] = [
            &[],
            &[2],
            &[2, 2, 1],
            &[2, 0x80, 0, 0],
            &[2, 0x85, 0, 0, 0, 0, 0],
            &[4, 0x84, 255, 255, 255, 255],
        ];
        for bytes in malformed {
            assert_eq!(Reader(bytes).next(), Err(Malformed), "{bytes:?}");
        }
    }
}
