//! The sources of a connection: `env:NAME`, `file:PATH`, `prompt`, `emulator`, `entra:URL`.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use azure_table_client::auth::SasToken;
use url::form_urlencoded;
use zeroize::Zeroizing;

use super::{Target, prompt};
use crate::failure::{Failure, Result};

/// The source of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A variable with a connection string or a URL with a signature.
    Variable(String),
    /// A file with the same.
    File(PathBuf),
    /// The terminal, where the text is not shown.
    Prompt,
    /// The well-known account of the emulator.
    Emulator,
    /// The address of an account that Microsoft Entra ID gives access to.
    Entra(String),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.split_once(':') {
            // A name has no `=`, a key at its end.
            Some(("env", name)) if !name.is_empty() && !name.contains('=') => {
                Ok(Self::Variable(name.to_owned()))
            }
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            Some(("entra", url)) if !url.is_empty() => Ok(Self::Entra(url.to_owned())),
            None if text == "prompt" => Ok(Self::Prompt),
            None if text == "emulator" => Ok(Self::Emulator),
            // The text is not repeated: it may be a secret.
            _ => Err("it must be env:NAME, file:PATH, prompt, emulator or entra:URL".to_owned()),
        }
    }
}

impl Source {
    /// Returns the account. `option` is the option that names the source, such as `--from`.
    pub(super) fn target(&self, option: &str) -> Result<Target> {
        match self {
            Self::Variable(name) => {
                let text = std::env::var(name).map_err(|_| {
                    Failure::usage(format!("the environment variable {name} is not set"))
                })?;
                read(&Zeroizing::new(text), format!("the environment variable {name}"))
            }
            Self::File(path) => {
                let text =
                    fs::read_to_string(path).map_err(|error| Failure::file("read", path, error))?;
                read(&Zeroizing::new(text), format!("the file {}", path.display()))
            }
            Self::Prompt => read(&prompt::connection(option)?, "the prompt".to_owned()),
            Self::Emulator => Ok(Target::of_text(
                "UseDevelopmentStorage=true",
                "the well-known account of the emulator",
            )),
            Self::Entra(endpoint) => entra(endpoint),
        }
    }
}

/// Reads a connection string, or a URL with a signature.
fn read(text: &str, origin: String) -> Result<Target> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::usage(format!("{origin} is empty: a connection string is expected")));
    }
    let parameters = text.strip_prefix('?').unwrap_or(text);
    let names = ["sv=", "sig=", "sp=", "st=", "se=", "si=", "ss=", "tn="];
    if names.iter().any(|name| parameters.starts_with(name)) {
        return Err(Failure::usage(format!(
            "{origin} is a signature without an address: `azure-table sas --url` prints both"
        )));
    }
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return Ok(Target::of_text(text, origin));
    }
    let Some((endpoint, token)) = text.split_once('?') else {
        return Err(Failure::usage(format!("{origin} is a URL without a signature")));
    };
    // The error of a whole URL is clearer than that of a connection string.
    SasToken::new(token).map_err(azure_table_client::Error::from)?;
    // The URL of a table names it in its path and in the signature.
    let table = form_urlencoded::parse(token.as_bytes()).find(|(name, _)| name == "tn");
    let path = table.map(|(_, table)| format!("/{table}")).unwrap_or_default();
    let endpoint = endpoint.strip_suffix(&path).unwrap_or(endpoint).trim_end_matches('/');
    let text = format!("TableEndpoint={endpoint};SharedAccessSignature={token}");
    Ok(Target::of_text(text, origin))
}

#[cfg(feature = "entra")]
fn entra(endpoint: &str) -> Result<Target> {
    use super::Access;
    use crate::failure::Exit;

    let credential = azure_identity::DeveloperToolsCredential::new(None).map_err(|error| {
        Failure::new(Exit::Denied, format!("cannot sign in with Microsoft Entra ID: {error}"))
    })?;
    let origin =
        "Microsoft Entra ID, by the developer tools that are signed in (az, azd)".to_owned();
    let access = Access::SignIn { endpoint: endpoint.to_owned(), credential: credential.into() };
    Ok(Target { access, origin })
}

#[cfg(not(feature = "entra"))]
fn entra(_endpoint: &str) -> Result<Target> {
    Err(without_entra())
}

#[cfg(not(feature = "entra"))]
/// The failure of a sign-in in a program without the feature `entra`.
pub fn without_entra() -> Failure {
    Failure::usage(
        "cannot sign in with Microsoft Entra ID: this program was built without the feature entra \
         (cargo install … --features entra)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read() {
        assert_eq!("env:OLD".parse(), Ok(Source::Variable("OLD".to_owned())));
        assert_eq!("file:a:b".parse(), Ok(Source::File("a:b".into())));
        assert_eq!("prompt".parse(), Ok(Source::Prompt));
        assert_eq!("entra:https://a".parse(), Ok(Source::Entra("https://a".to_owned())));
        for bad in ["", "env:", "env:SECRET==", "prompt:", "SECRET"] {
            let error = bad.parse::<Source>().unwrap_err();
            assert!(!error.contains("SECRET"), "{error}");
        }
    }

    #[test]
    fn a_signature_without_an_address_is_refused() {
        for text in ["sv=2019-02-02&sp=r&sig=AAAA", "?sp=r&sv=2019-02-02&sig=AAAA"] {
            let Err(failure) = read(text, "here".to_owned()) else { panic!("{text}") };
            let expected =
                "here is a signature without an address: `azure-table sas --url` prints both";
            assert_eq!(failure.message(), expected);
        }
    }

    #[test]
    fn a_url_with_a_signature_is_an_account() {
        let text = "https://a.table.core.windows.net/?sv=2019-02-02&sp=r&sig=AAAA";
        let text = read(text, String::new()).ok().and_then(Target::connection_string).unwrap();
        let expected = "TableEndpoint=https://a.table.core.windows.net;SharedAccessSignature=sv=2019-02-02&sp=r&sig=AAAA";
        assert_eq!(*text, expected);
        let text = "https://a.table.core.windows.net/Blogs?sv=2019-02-02&tn=Blogs&sig=AAAA";
        let text = read(text, String::new()).ok().and_then(Target::connection_string).unwrap();
        assert!(text.starts_with("TableEndpoint=https://a.table.core.windows.net;"), "{}", *text);
        assert!(read("https://a.table.core.windows.net/", String::new()).is_err());
    }
}
