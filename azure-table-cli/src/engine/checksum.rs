//! The size and the SHA-256 hash of a file.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;

/// The bytes that are hashed at once.
const BLOCK_BYTES: usize = 256 * 1024;

/// The size and the hash of a content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checksum {
    pub(crate) bytes: u64,
    /// The hash in hexadecimal digits.
    pub(crate) sha256: String,
}

impl Checksum {
    /// Reads a whole file.
    pub(crate) fn of_file(path: &Path, interrupt: &Interrupt) -> Result<Self> {
        let failed = |error| Failure::file("read", path, error);
        let mut file = File::open(path).map_err(failed)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let read = file.read(&mut block).map_err(failed)?;
            if read == 0 {
                break;
            }
            hash.update(&block[..read]);
            bytes += read as u64;
            interrupt.check("while the file was read")?;
        }
        Ok(Self { bytes, sha256: hexadecimal(hash) })
    }

    /// The checksum of a text.
    pub(crate) fn of_text(text: &str) -> Self {
        let hash = Sha256::new().chain_update(text);
        Self { bytes: text.len() as u64, sha256: hexadecimal(hash) }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {}", self.bytes, self.sha256)
    }
}

fn hexadecimal(hash: Sha256) -> String {
    let mut text = String::new();
    for byte in hash.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_has_the_size_and_the_hash() {
        let expected = "3 bytes, ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Checksum::of_text("abc").to_string(), expected);
    }
}
