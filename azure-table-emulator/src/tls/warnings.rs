//! What is wrong with the files of HTTPS although they can be used: an expired certificate, a key that others can read.

use std::path::Path;
use std::time::SystemTime;

use azure_table_client::edm::EdmDateTime;

use super::der::{Malformed, Reader, SEQUENCE, WRAPPED};

const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns a line for each problem. `key` is the file with the private key.
pub(super) fn of(file: &Path, certificate: &[u8], key: &Path) -> Vec<String> {
    let now = EdmDateTime::from_system_time(SystemTime::now()).ok();
    let expired =
        not_after(certificate).ok().flatten().filter(|end| now.is_some_and(|now| *end < now));
    let expired = expired.map(|end| {
        let (file, end) = (file.display(), end.trimmed());
        format!("the certificate {file} expired at {end}: clients refuse it")
    });
    let open = is_open(key).then(|| {
        let key = key.display();
        format!("other users can read the key in {key}: chmod 600 {key}")
    });
    expired.into_iter().chain(open).collect()
}

/// The end of a certificate's validity. Source: RFC 5280, section 4.1.
fn not_after(certificate: &[u8]) -> Result<Option<EdmDateTime>, Malformed> {
    let mut fields = Reader(certificate).inside(SEQUENCE)?.inside(SEQUENCE)?;
    // The version is optional. The serial number, the algorithm and the issuer precede the validity.
    let (first, _) = fields.next()?;
    for _ in 0..if first == WRAPPED { 3 } else { 2 } {
        fields.next()?;
    }
    let mut validity = fields.inside(SEQUENCE)?;
    validity.next()?;
    let (kind, text) = validity.next()?;
    let text = std::str::from_utf8(text).map_err(|_| Malformed)?;
    let text = match kind {
        UTC_TIME if text < "50" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return Err(Malformed),
    };
    Ok(time(&text))
}

/// Reads `20270131235959Z`.
fn time(text: &str) -> Option<EdmDateTime> {
    let part = |from: usize, to: usize| text.get(from..to);
    let (date, hour) = ((part(0, 4)?, part(4, 6)?, part(6, 8)?), part(8, 10)?);
    let (minute, second) = (part(10, 12)?, part(12, 14)?);
    let (year, month, day) = date;
    format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z").parse().ok()
}

#[cfg(unix)]
fn is_open(key: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(key).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    #[test]
    fn an_expired_certificate_and_an_open_key_are_reported() {
        let folder =
            std::env::temp_dir().join(format!("azure-table-warnings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, key) = (PathBuf::from("cert.pem"), folder.join("key.pem"));
        std::fs::write(&key, "key").unwrap();
        for (year, expired) in [(2020, Some("2020-01-31T00:00:00Z")), (2049, None), (2070, None)] {
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            params.not_before = date_time_ymd(2019, 1, 1);
            params.not_after = date_time_ymd(year, 1, 31);
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let found = of(&file, certificate.der(), Path::new("missing"));
            let expected = expired
                .map(|end| format!("the certificate cert.pem expired at {end}: clients refuse it"));
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
        #[cfg(unix)]
        for (mode, is_reported) in [(0o600, false), (0o640, true), (0o604, true)] {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(of(&file, &[], &key).len(), usize::from(is_reported), "{mode:o}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn bytes_that_are_no_certificate_are_not_expired() {
        for bytes in [&[][..], &[0x30, 0x00], &[0x30, 0x02, 0x30, 0x00], &[0xff; 40]] {
            assert!(!matches!(not_after(bytes), Ok(Some(_))), "{bytes:?}");
        }
    }
}
