//! Refuses secrets as arguments, which other users see in the list of processes.

use std::ffi::OsString;

use crate::args::own_arguments;
use crate::failure::{Failure, Result};

/// Refuses arguments that contain a key or a signature. The message does not repeat them.
pub(crate) fn refuse(arguments: &[OsString]) -> Result<()> {
    let own = &arguments[..own_arguments(arguments)];
    // The emulator accepts the keys of its own accounts.
    let is_emulator = own.last().is_some_and(|command| command == "serve");
    let checked = if is_emulator { own } else { arguments };
    match checked.iter().position(|argument| has_secret(&argument.to_string_lossy())) {
        None => Ok(()),
        Some(position) => Err(Failure::usage(format!(
            "argument {position} is refused: it contains a key or a signature, which other users see in the list of \
             processes; set AZURE_STORAGE_CONNECTION_STRING, or pass --connection-from env:NAME, file:PATH or prompt \
             (a row that holds such a text can be read from a file)"
        ))),
    }
}

fn has_secret(argument: &str) -> bool {
    let lower = argument.to_ascii_lowercase();
    let named = ["accountkey=", "sharedaccesssignature=", "sharedaccesskey="];
    let signature = lower.match_indices("sig=").any(|(at, _)| {
        lower[..at]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric() && before != '_')
    });
    signature || named.iter().any(|name| lower.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_signatures_are_found() {
        for secret in [
            "AccountName=a;AccountKey=AAAA",
            "--endpoint=https://a.table.core.windows.net/?sv=2019-02-02&sig=AAAA",
            "?sig=AAAA",
            "sig=AAAA",
            "sharedaccesssignature=x",
        ] {
            assert!(has_secret(secret), "{secret}");
        }
        for plain in
            ["Signature eq 'a'", "Design=1", "account_sig=1", "env:NAME", "Sig:Edm.Int32=1"]
        {
            assert!(!has_secret(plain), "{plain}");
        }
    }

    #[test]
    fn the_message_does_not_repeat_the_secret() {
        let arguments = ["azure-table", "tables", "AccountKey=c2VjcmV0"].map(OsString::from);
        let failure = refuse(&arguments).unwrap_err();
        assert!(failure.message().starts_with("argument 2 is refused"), "{failure:?}");
        assert!(!failure.message().contains("c2VjcmV0"), "{failure:?}");
    }
}
