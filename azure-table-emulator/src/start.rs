//! The output at the start: addresses, connection strings and warnings.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use azure_table_client::auth::DEVELOPMENT_KEY;

use crate::options::{Account, Options};
use crate::tls::Https;

/// Returns the lines on standard output once the program listens at the address.
pub(crate) fn lines(options: &Options, https: Option<&Https>, address: SocketAddr) -> String {
    let scheme = if https.is_some() { "https" } else { "http" };
    let origin = format!("{scheme}://{address}");
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{line}");
    };
    for Account { name, .. } in &options.accounts {
        line(format_args!("azure-table-emulator listening on {origin}/{name}"));
    }
    // Tests that start `azurite` wait for the end of the first line, and scripts that start `azurite-table` for that of
    // the second.
    line(format_args!("Azurite-compatible Table service is successfully listening at {origin}"));
    line(format_args!("Azurite-compatible Table service successfully started on {address}"));
    for account in &options.accounts {
        let Account { name, .. } = account;
        // Secret keys do not belong in the output, which is often kept.
        let key = if account.has_public_key() { DEVELOPMENT_KEY } else { "<key>" };
        line(format_args!(
            "Connection string: DefaultEndpointsProtocol={scheme};AccountName={name};\
             AccountKey={key};TableEndpoint={origin}/{name};"
        ));
    }
    if options.page {
        line(format_args!("Page: {origin}/-/"));
    }
    match &options.data {
        Some(folder) => line(format_args!("Data: {}", folder.display())),
        None => line(format_args!("Data: in memory only; --data DIR keeps it")),
    }
    if let Some(authority) = https.and_then(|https| https.authority.as_ref()) {
        line(format_args!("Certificate authority to trust: {}", authority.display()));
    }
    text
}

/// Returns `true` if only this machine can reach a listener at the address. An IPv6 socket may have an IPv4
/// address in mapped form.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Returns the warning about a listener that other machines can reach.
pub(crate) fn warning(options: &Options, address: IpAddr) -> Option<&'static str> {
    if is_loopback(address) {
        return None;
    }
    let is_open = options.loose || options.accounts.iter().any(Account::has_public_key);
    if is_open || options.oauth {
        return Some(
            "warning: other machines can reach this address and can read and write without a secret key",
        );
    }
    (options.page && options.control_token.is_none()).then_some(
        "warning: other machines can reach this address, and its page shows all rows without a key (see --no-page)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_loopback_addresses_are_loopback() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("::ffff:10.0.0.1", false),
            ("0.0.0.0", false),
        ] {
            assert_eq!(is_loopback(address.parse().unwrap()), expected, "{address}");
        }
    }
}
