//! `sas` and `whoami`.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use azure_table_client::edm::EdmDateTime;
use clap::Args;

use super::duration::duration;

/// Sign a shared access signature and print it; anyone who has it can use it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  azure-table sas --table Blogs --permissions r --expires 1h --partition-key Channel9
  azure-table sas --permissions rl --resource-types co --expires 2027-01-01T00:00:00Z --url

To use a signature, keep its URL in a variable or a file, and name the source:
  export SIGNED=\"$(azure-table sas --table Blogs --permissions r --expires 1h --url)\"
  azure-table query Blogs --connection-from env:SIGNED

The key of the account signs it, or a key of Microsoft Entra ID with --user-delegation. Without --table it is for the account.")]
pub(crate) struct Sas {
    /// Table that it permits access to
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// Letters: r(ead) a(dd) u(pdate) d(elete); for the account also w(rite) l(ist) c(reate)
    ///
    /// l lists tables, c creates them, w creates them and changes settings. An upsert needs au.
    #[arg(long, short, value_name = "LETTERS", required_unless_present = "policy")]
    pub(crate) permissions: Option<String>,
    /// Time of its end, or its lifetime: 2027-01-01T00:00:00Z, 90m, 12h, 7d
    #[arg(long, value_name = "TIME", required_unless_present = "policy")]
    pub(crate) expires: Option<Moment>,
    /// Time of its start; the default is at once
    ///
    /// Clocks differ: a start in the future may be refused for a while.
    #[arg(long, value_name = "TIME")]
    pub(crate) starts: Option<EdmDateTime>,
    /// For the account, letters: s(ervice) c(ontainer: tables) o(bject: rows); the default is all
    #[arg(long, value_name = "LETTERS", conflicts_with = "table")]
    pub(crate) resource_types: Option<String>,
    /// Only this partition
    #[arg(long, value_name = "KEY", requires = "table", conflicts_with_all = ["start_partition_key", "end_partition_key"])]
    pub(crate) partition_key: Option<String>,
    /// First PartitionKey
    #[arg(long, value_name = "KEY", requires = "table")]
    pub(crate) start_partition_key: Option<String>,
    /// First RowKey of the first partition
    #[arg(long, value_name = "KEY", requires = "table")]
    pub(crate) start_row_key: Option<String>,
    /// Last PartitionKey
    #[arg(long, value_name = "KEY", requires = "table")]
    pub(crate) end_partition_key: Option<String>,
    /// Last RowKey of the last partition
    #[arg(long, value_name = "KEY", requires = "table")]
    pub(crate) end_row_key: Option<String>,
    /// Stored access policy of the table; it supplies the permissions and times that are not given
    ///
    /// Removing the policy from the table revokes the signature. A note names a policy that the table does not have, if the
    /// service responds; --quiet sends no request.
    #[arg(long, value_name = "ID", requires = "table")]
    pub(crate) policy: Option<String>,
    /// Only requests from this IPv4 address, or from a range: 10.0.0.1-10.0.0.9
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) ip: Option<Addresses>,
    /// Permit plain HTTP too, which emulators without a certificate need
    #[arg(long)]
    pub(crate) http: bool,
    /// Print the address of the table, or of the service, with the signature
    ///
    /// Fails if the signature does not permit the protocol of the address.
    #[arg(long)]
    pub(crate) url: bool,
    /// Sign with a key of Microsoft Entra ID, which lives for 7 days at most; needs --entra
    ///
    /// The user needs a role such as Storage Table Delegator. Not tried on a live account.
    #[arg(long, requires = "table", conflicts_with = "policy")]
    pub(crate) user_delegation: bool,
}

/// Show the credential and test what it may read; nothing is written
///
/// The requests are the list of tables (one name), the settings of the service, and one row and the stored access policies of
/// the table, which --table or the signature names.
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table whoami --table Blogs")]
pub(crate) struct Whoami {
    /// Table whose rows and policies are read too
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<String>,
}

/// A time, or a lifetime from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    At(EdmDateTime),
    In(Duration),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(time) = text.parse() {
            return Ok(Self::At(time));
        }
        duration(text).map(Self::In).map_err(|_| {
            "it must be a time with its zone, such as 2027-01-01T00:00:00Z, or a lifetime such as 90m, 12h or 7d".to_owned()
        })
    }
}

/// A range of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Addresses(pub(crate) RangeInclusive<Ipv4Addr>);

impl FromStr for Addresses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) => Ok(Self(first..=last)),
            _ => Err("it must be an IPv4 address, or two with a hyphen".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lifetimes_are_read() {
        assert_eq!("90m".parse(), Ok(Moment::In(Duration::from_secs(5_400))));
        assert_eq!("7d".parse(), Ok(Moment::In(Duration::from_secs(604_800))));
        assert!(matches!("2027-01-01T00:00:00Z".parse(), Ok(Moment::At(_))));
        for bad in ["", "d", "0h", "-1h", "7", "1w", "2027-01-01", "99999999999999999999d", "ü"] {
            assert!(bad.parse::<Moment>().is_err(), "{bad}");
        }
    }

    #[test]
    fn addresses_are_read() {
        let range = "10.0.0.1-10.0.0.9".parse::<Addresses>().unwrap().0;
        assert_eq!((range.start().octets()[3], range.end().octets()[3]), (1, 9));
        assert!("10.0.0".parse::<Addresses>().is_err());
    }
}
