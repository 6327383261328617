//! PFX files: a private key and its certificates, encrypted with a password. Source: RFC 7292 (PKCS #12),
//! RFC 8018 (PBES2).
//!
//! The reader is our own because p12-keystore 0.4.1 makes the program 7.7 % larger, brings 45 more crates, two of them
//! pre-releases, and does not read files with PBES2 and HMAC-SHA-1 or Triple DES, or with 128-bit RC2.

use std::fmt;
use std::num::NonZeroU32;

use aws_lc_rs::{digest, pbkdf2};
use cbc::Decryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, KeyIvInit};

use super::der::{IMPLICIT_OCTETS, Malformed, OCTETS, OID, Reader, SEQUENCE, WRAPPED};

/// The largest iteration count of a key derivation, which takes some seconds.
const MAX_ITERATIONS: u32 = 10_000_000;

/// The content of a PFX file, as DER.
#[derive(Default)]
pub(super) struct Pfx {
    pub(super) key: Option<Vec<u8>>,
    pub(super) certificates: Vec<Vec<u8>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PfxError {
    Malformed,
    Password,
    /// An algorithm with this object identifier.
    Algorithm(String),
}

impl fmt::Display for PfxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("it is not a PFX file in DER"),
            Self::Password => f.write_str("the password is wrong, or the file is damaged"),
            Self::Algorithm(id) => write!(
                f,
                "its encryption {id} is not supported; `openssl pkcs12 -export` writes a supported one"
            ),
        }
    }
}

impl From<Malformed> for PfxError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// The object identifiers, encoded.
mod oid {
    pub(super) const DATA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01";
    pub(super) const ENCRYPTED_DATA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x06";
    pub(super) const KEY_BAG: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x01";
    pub(super) const ENCRYPTED_KEY_BAG: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x02";
    pub(super) const CERTIFICATE_BAG: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x03";
    pub(super) const X509_CERTIFICATE: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x16\x01";

    pub(super) const PBES2: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d";
    pub(super) const PBKDF2: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0c";
    pub(super) const HMAC_SHA1: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x02\x07";
    pub(super) const HMAC_SHA256: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x02\x09";
    pub(super) const HMAC_SHA384: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x02\x0a";
    pub(super) const HMAC_SHA512: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x02\x0b";
    pub(super) const AES128_CBC: &[u8] = b"\x60\x86\x48\x01\x65\x03\x04\x01\x02";
    pub(super) const AES192_CBC: &[u8] = b"\x60\x86\x48\x01\x65\x03\x04\x01\x16";
    pub(super) const AES256_CBC: &[u8] = b"\x60\x86\x48\x01\x65\x03\x04\x01\x2a";
    pub(super) const TRIPLE_DES_CBC: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x03\x07";

    /// The encryptions of PKCS #12 itself, with SHA-1. .NET, old OpenSSL and mkcert write them.
    pub(super) const PKCS12_TRIPLE_DES: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01\x03";
    pub(super) const PKCS12_RC2_128: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01\x05";
    pub(super) const PKCS12_RC2_40: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01\x06";
}

/// Reads the file. A wrong password is detected because the decrypted bytes are invalid.
pub(super) fn read(file: &[u8], password: &str) -> Result<Pfx, PfxError> {
    let mut pfx = Reader(file).inside(SEQUENCE)?;
    let _version = pfx.number()?;
    let mut safe = pfx.inside(SEQUENCE)?;
    if safe.value(OID)? != oid::DATA {
        return Err(PfxError::Malformed);
    }
    let content = safe.inside(WRAPPED)?.value(OCTETS)?;
    let mut parts = Reader(content).inside(SEQUENCE)?;
    let mut found = Pfx::default();
    while !parts.is_empty() {
        let mut part = parts.inside(SEQUENCE)?;
        let kind = part.value(OID)?;
        let mut content = part.inside(WRAPPED)?;
        match kind {
            oid::DATA => found.add_bags(content.value(OCTETS)?, password)?,
            oid::ENCRYPTED_DATA => {
                let mut data = content.inside(SEQUENCE)?;
                let _version = data.number()?;
                let mut encrypted = data.inside(SEQUENCE)?;
                let _kind = encrypted.value(OID)?;
                let algorithm = encrypted.inside(SEQUENCE)?;
                let bags = decrypt(algorithm, encrypted.value(IMPLICIT_OCTETS)?, password)?;
                found.add_bags(&bags, password).map_err(|error| match error {
                    PfxError::Malformed => PfxError::Password,
                    error => error,
                })?;
            }
            // Data for the holder of a public key.
            _ => return Err(PfxError::Algorithm(dotted(kind))),
        }
    }
    Ok(found)
}

impl Pfx {
    fn add_bags(&mut self, bags: &[u8], password: &str) -> Result<(), PfxError> {
        let mut bags = Reader(bags).inside(SEQUENCE)?;
        while !bags.is_empty() {
            let mut bag = bags.inside(SEQUENCE)?;
            let kind = bag.value(OID)?;
            let mut content = bag.inside(WRAPPED)?;
            match kind {
                oid::KEY_BAG => self.key = Some(content.0.to_vec()),
                oid::ENCRYPTED_KEY_BAG => {
                    let mut encrypted = content.inside(SEQUENCE)?;
                    let algorithm = encrypted.inside(SEQUENCE)?;
                    let key = decrypt(algorithm, encrypted.value(OCTETS)?, password)?;
                    Reader(&key).inside(SEQUENCE).map_err(|_| PfxError::Password)?;
                    self.key = Some(key);
                }
                oid::CERTIFICATE_BAG => {
                    let mut certificate = content.inside(SEQUENCE)?;
                    if certificate.value(OID)? == oid::X509_CERTIFICATE {
                        let der = certificate.inside(WRAPPED)?.value(OCTETS)?;
                        self.certificates.push(der.to_vec());
                    }
                }
                // Revocation lists and secrets.
                _ => {}
            }
        }
        Ok(())
    }
}

fn decrypt(mut algorithm: Reader<'_>, data: &[u8], password: &str) -> Result<Vec<u8>, PfxError> {
    let kind = algorithm.value(OID)?;
    let mut parameters = algorithm.inside(SEQUENCE)?;
    if kind == oid::PBES2 {
        return pbes2(parameters, data, password);
    }
    let (salt, iterations) = (parameters.value(OCTETS)?, iterations(parameters.number()?)?);
    let derived = |purpose, length| derive(password, salt, iterations, purpose, length);
    match kind {
        oid::PKCS12_TRIPLE_DES => {
            open::<Decryptor<des::TdesEde3>>(&derived(KEY, 24), &derived(IV, 8), data)
        }
        oid::PKCS12_RC2_128 => {
            open::<Decryptor<rc2::Rc2>>(&derived(KEY, 16), &derived(IV, 8), data)
        }
        oid::PKCS12_RC2_40 => open::<Decryptor<rc2::Rc2>>(&derived(KEY, 5), &derived(IV, 8), data),
        _ => Err(PfxError::Algorithm(dotted(kind))),
    }
}

fn pbes2(mut parameters: Reader<'_>, data: &[u8], password: &str) -> Result<Vec<u8>, PfxError> {
    let mut derivation = parameters.inside(SEQUENCE)?;
    let mut cipher = parameters.inside(SEQUENCE)?;
    let kind = derivation.value(OID)?;
    if kind != oid::PBKDF2 {
        return Err(PfxError::Algorithm(dotted(kind)));
    }
    let mut derivation = derivation.inside(SEQUENCE)?;
    let (salt, iterations) = (derivation.value(OCTETS)?, iterations(derivation.number()?)?);
    let mut digest = oid::HMAC_SHA1;
    while !derivation.is_empty() {
        // The length of the key is known from the cipher.
        if let (SEQUENCE, content) = derivation.next()? {
            digest = Reader(content).value(OID)?;
        }
    }
    let digest = match digest {
        oid::HMAC_SHA1 => pbkdf2::PBKDF2_HMAC_SHA1,
        oid::HMAC_SHA256 => pbkdf2::PBKDF2_HMAC_SHA256,
        oid::HMAC_SHA384 => pbkdf2::PBKDF2_HMAC_SHA384,
        oid::HMAC_SHA512 => pbkdf2::PBKDF2_HMAC_SHA512,
        other => return Err(PfxError::Algorithm(dotted(other))),
    };
    let (kind, iv) = (cipher.value(OID)?, cipher.value(OCTETS)?);
    let key = |length| {
        let mut key = vec![0; length];
        pbkdf2::derive(digest, iterations, salt, password.as_bytes(), &mut key);
        key
    };
    match kind {
        oid::AES128_CBC => open::<Decryptor<aes::Aes128>>(&key(16), iv, data),
        oid::AES192_CBC => open::<Decryptor<aes::Aes192>>(&key(24), iv, data),
        oid::AES256_CBC => open::<Decryptor<aes::Aes256>>(&key(32), iv, data),
        oid::TRIPLE_DES_CBC => open::<Decryptor<des::TdesEde3>>(&key(24), iv, data),
        other => Err(PfxError::Algorithm(dotted(other))),
    }
}

fn open<D: BlockModeDecrypt + KeyIvInit>(
    key: &[u8],
    iv: &[u8],
    data: &[u8],
) -> Result<Vec<u8>, PfxError> {
    let cipher = D::new_from_slices(key, iv).map_err(|_| PfxError::Malformed)?;
    let mut data = data.to_vec();
    let length = cipher.decrypt_padded::<Pkcs7>(&mut data).map_err(|_| PfxError::Password)?.len();
    data.truncate(length);
    Ok(data)
}

fn iterations(number: u32) -> Result<NonZeroU32, PfxError> {
    let number = NonZeroU32::new(number).filter(|number| number.get() <= MAX_ITERATIONS);
    number.ok_or(PfxError::Malformed)
}

/// The purposes of derived bytes.
const KEY: u8 = 1;
const IV: u8 = 2;
/// The block of SHA-1.
const BLOCK: usize = 64;

/// The key derivation of PKCS #12 with SHA-1: RFC 7292, appendix B.2.
fn derive(
    password: &str,
    salt: &[u8],
    iterations: NonZeroU32,
    purpose: u8,
    length: usize,
) -> Vec<u8> {
    // UTF-16, with a zero at the end.
    let password: Vec<u8> = password.encode_utf16().chain([0]).flat_map(u16::to_be_bytes).collect();
    let filled = |bytes: &[u8]| -> Vec<u8> {
        let length = bytes.len().next_multiple_of(BLOCK);
        bytes.iter().copied().cycle().take(length).collect()
    };
    let mut input = filled(salt);
    input.extend(filled(&password));
    let hash = |parts: &[&[u8]]| digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &parts.concat());
    let mut derived = Vec::new();
    while derived.len() < length {
        let mut round = hash(&[&[purpose; BLOCK], &input]);
        for _ in 1..iterations.get() {
            round = hash(&[round.as_ref()]);
        }
        derived.extend_from_slice(round.as_ref());
        let addend: Vec<u8> = round.as_ref().iter().copied().cycle().take(BLOCK).collect();
        for block in input.chunks_mut(BLOCK) {
            add(block, &addend);
        }
    }
    derived.truncate(length);
    derived
}

/// Adds a number and one to another of the same length, and drops the carry.
fn add(number: &mut [u8], addend: &[u8]) {
    let mut carry = 1;
    for (byte, more) in number.iter_mut().zip(addend).rev() {
        let sum = u16::from(*byte) + u16::from(*more) + carry;
        [_, *byte] = sum.to_be_bytes();
        carry = sum >> 8;
    }
}

/// The usual form of an object identifier: `1.2.840.113549.1.12.1.3`.
fn dotted(oid: &[u8]) -> String {
    let mut numbers = Vec::new();
    let mut number = 0_u64;
    for byte in oid {
        number = (number << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(std::mem::take(&mut number));
        }
    }
    if let Some(first) = numbers.first_mut() {
        let top = (*first / 40).min(2);
        *first -= top * 40;
        numbers.insert(0, top);
    }
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the tests of other implementations of PKCS #12: the password `smeg`, 1 iteration.
    #[test]
    fn keys_are_derived_like_by_other_implementations() {
        let salt = [0x0a, 0x58, 0xcf, 0x64, 0x53, 0x0d, 0x82, 0x3f];
        let key = derive("smeg", &salt, NonZeroU32::MIN, KEY, 24);
        let hex = key.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        assert_eq!(hex, "8aaae6297b6cb04642ab5b077851284eb7128f1a2a7fbca3");
    }

    #[test]
    fn object_identifiers_are_shown_as_numbers() {
        assert_eq!(dotted(oid::PKCS12_TRIPLE_DES), "1.2.840.113549.1.12.1.3");
        assert_eq!(dotted(oid::AES256_CBC), "2.16.840.1.101.3.4.1.42");
        assert_eq!(dotted(&[]), "");
    }

    #[test]
    fn damaged_files_are_refused() {
        let file = include_bytes!("../../tests/tls/modern.pfx");
        assert!(read(file, "secret").is_ok_and(|pfx| pfx.key.is_some()));
        assert_eq!(read(file, "wrong").err(), Some(PfxError::Password));
        assert_eq!(read(b"-----BEGIN", "secret").err(), Some(PfxError::Malformed));
        for length in 0..file.len() {
            let _ = read(&file[..length], "secret");
        }
    }
}
