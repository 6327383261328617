//! The certificate that `--self-signed` writes, and the authority that clients trust.
//!
//! The key of the authority signs one certificate and is never stored. A stolen folder can therefore not
//! sign certificates that clients trust.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};

use crate::folder::create_private;
use crate::options::Options;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Clients refuse certificates that are valid for longer.
const VALID: Duration = Duration::from_secs(397 * DAY.as_secs());
/// A certificate that expires sooner is replaced at the start.
const RENEWED: Duration = Duration::from_secs(30 * DAY.as_secs());

/// The files of the certificate.
pub(super) struct Files {
    /// The authority that clients trust.
    pub(super) authority: PathBuf,
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// Returns the names and addresses that clients may use for the server.
pub(super) fn names(options: &Options) -> Vec<String> {
    let fixed = ["localhost", "127.0.0.1", "::1", "host.docker.internal", "*.127.0.0.1.nip.io"];
    let mut names: Vec<_> = fixed.map(str::to_owned).into();
    // Clients do not accept the pattern `*.localhost`.
    let of_accounts = options.accounts.iter().flat_map(|account| {
        ["", "-secondary"].map(|suffix| format!("{}{suffix}.localhost", account.name))
    });
    names.extend(of_accounts);
    let host = options.host.trim_matches(['[', ']']).to_owned();
    let more = [host].into_iter().chain(options.allow_hosts.iter().cloned());
    names.extend(more.filter(|name| !matches!(&**name, "0.0.0.0" | "::")));
    names.sort();
    names.dedup();
    names
}

/// Returns the files in the folder. Writes them unless they are for the same names and valid for some time.
pub(super) fn ensure(folder: &Path, names: &[String]) -> Result<Files, String> {
    let files = Files {
        authority: folder.join("ca.pem"),
        certificate: folder.join("server.pem"),
        key: folder.join("server-key.pem"),
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    if !files.are_valid(names, now + RENEWED) {
        let failed = |error: &dyn std::fmt::Display| {
            format!("the certificate in {} cannot be written: {error}", folder.display())
        };
        let issued = issue(names, now).map_err(|error| failed(&error))?;
        files.write(folder, &issued).map_err(|error| failed(&error))?;
    }
    Ok(files)
}

/// The content of the files.
struct Issued {
    authority: String,
    certificate: String,
    key: String,
}

impl Files {
    /// Returns `true` if the files exist, and the certificate is for these names and valid at this time,
    /// which is the time since 1970.
    fn are_valid(&self, names: &[String], time: Duration) -> bool {
        let first_line = fs::read_to_string(&self.certificate).ok();
        let first_line = first_line.as_deref().and_then(|text| text.lines().next());
        let until = first_line.and_then(|line| {
            let (until, listed) = line.strip_prefix(MARK)?.split_once(' ')?;
            (listed == names.join(" ")).then(|| until.parse().ok()).flatten()
        });
        until.is_some_and(|until| time.as_secs() < until)
            && self.authority.is_file()
            && self.key.is_file()
    }

    /// Writes the certificate last, since it marks the files as complete.
    fn write(&self, folder: &Path, issued: &Issued) -> io::Result<()> {
        create_private(folder)?;
        if self.certificate.exists() {
            fs::remove_file(&self.certificate)?;
        }
        write(&self.key, &issued.key, 0o600)?;
        write(&self.authority, &issued.authority, 0o644)?;
        write(&self.certificate, &issued.certificate, 0o644)
    }
}

/// The begin of the line before the certificate, which PEM readers ignore. It has the end of the validity
/// in seconds since 1970, and the names.
const MARK: &str = "Written by azure-table-emulator, valid until ";

/// Issues a certificate with an authority of its own.
fn issue(names: &[String], now: Duration) -> Result<Issued, rcgen::Error> {
    let epoch = date_time_ymd(1970, 1, 1);
    // Another clock may be behind.
    let (from, until) = (epoch + (now.saturating_sub(DAY)), epoch + (now + VALID));
    let named = |name: String| {
        let mut distinguished = DistinguishedName::new();
        distinguished.push(DnType::CommonName, name);
        distinguished
    };

    let mut authority = CertificateParams::default();
    // Trust stores may tell authorities apart by their names.
    authority.distinguished_name =
        named(format!("azure-table-emulator development CA {}", now.as_secs()));
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (authority.not_before, authority.not_after) = (from, until);
    let authority = CertifiedIssuer::self_signed(authority, new_key()?)?;

    let mut server = CertificateParams::new(names)?;
    server.distinguished_name = named("azure-table-emulator".into());
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    (server.not_before, server.not_after) = (from, until);
    let key = new_key()?;
    let certificate = server.signed_by(&key, &authority)?;
    let until = (now + VALID).as_secs();
    Ok(Issued {
        authority: authority.pem(),
        certificate: format!("{MARK}{until} {}\n{}", names.join(" "), certificate.pem()),
        key: key.serialize_pem(),
    })
}

fn new_key() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
}

/// Writes a file with these permissions, also if it existed with others.
fn write(path: &Path, content: &str, mode: u32) -> io::Result<()> {
    if path.exists() {
        fs::remove_file(path)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path)?.write_all(content.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_kept_until_they_expire_or_the_names_change() {
        let folder = std::env::temp_dir().join(format!("atm-self-signed-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let authority = || {
            let files = ensure(&folder, &names).unwrap();
            (fs::read_to_string(&files.authority).unwrap(), files)
        };
        let (first, files) = authority();
        assert_eq!(authority().0, first, "a later start needs no new trust");
        #[cfg(unix)]
        {
            let mode = |path| std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).unwrap());
            assert_eq!(mode(&files.key) & 0o777, 0o600);
        }

        // It expires in less than the time of renewal.
        let old = SystemTime::now().checked_sub(VALID).unwrap();
        let old = old.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        files.write(&folder, &issue(&names, old + RENEWED).unwrap()).unwrap();
        let renewed = authority().0;
        assert_ne!(renewed, first);
        let more = [names.clone(), vec!["tables".into()]].concat();
        ensure(&folder, &more).unwrap();
        assert_ne!(fs::read_to_string(&files.authority).unwrap(), renewed);
        fs::remove_dir_all(&folder).unwrap();
    }
}
