//! The strings to sign of shared access signatures.
//!
//! Source: [Create a service SAS][service] and [Create an account SAS][account], "Construct the
//! signature string".
//!
//! [service]: https://learn.microsoft.com/rest/api/storageservices/create-service-sas
//! [account]: https://learn.microsoft.com/rest/api/storageservices/create-account-sas

/// The first version whose signatures name the service before the account.
const NAMES_SERVICE: &str = "2015-02-21";
/// The first version that can restrict addresses and protocols; the first one with account SAS too.
pub(crate) const RESTRICTS_ORIGIN: &str = "2015-04-05";
/// The first version with encryption scopes, which blobs have and tables do not.
pub(crate) const HAS_ENCRYPTION_SCOPE: &str = "2020-12-06";

/// The fields of a signature for one table, decoded; a field that is left out is empty.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TableSasFields<'a> {
    pub(crate) account: &'a str,
    pub(crate) table: &'a str,
    pub(crate) version: &'a str,
    pub(crate) permissions: &'a str,
    pub(crate) start: &'a str,
    pub(crate) expiry: &'a str,
    pub(crate) identifier: &'a str,
    pub(crate) ip: &'a str,
    pub(crate) protocol: &'a str,
    pub(crate) start_partition_key: &'a str,
    pub(crate) start_row_key: &'a str,
    pub(crate) end_partition_key: &'a str,
    pub(crate) end_row_key: &'a str,
}

impl TableSasFields<'_> {
    /// Returns the string to sign. Versions are dates, so that their texts sort in their order.
    pub(crate) fn string_to_sign(&self) -> String {
        let service = if self.version >= NAMES_SERVICE { "/table" } else { "" };
        let resource = format!("{service}/{}/{}", self.account, self.table.to_ascii_lowercase());
        let mut lines = vec![self.permissions, self.start, self.expiry, &resource, self.identifier];
        if self.version >= RESTRICTS_ORIGIN {
            lines.extend([self.ip, self.protocol]);
        }
        lines.extend([
            self.version,
            self.start_partition_key,
            self.start_row_key,
            self.end_partition_key,
            self.end_row_key,
        ]);
        lines.join("\n")
    }
}

/// The fields of a signature for an account, decoded; a field that is left out is empty.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AccountSasFields<'a> {
    pub(crate) account: &'a str,
    pub(crate) version: &'a str,
    pub(crate) permissions: &'a str,
    pub(crate) services: &'a str,
    pub(crate) resource_types: &'a str,
    pub(crate) start: &'a str,
    pub(crate) expiry: &'a str,
    pub(crate) ip: &'a str,
    pub(crate) protocol: &'a str,
    pub(crate) encryption_scope: &'a str,
}

impl AccountSasFields<'_> {
    /// Returns the string to sign; unlike the string for a table, it ends with a line break.
    pub(crate) fn string_to_sign(&self) -> String {
        let mut lines = vec![
            self.account,
            self.permissions,
            self.services,
            self.resource_types,
            self.start,
            self.expiry,
            self.ip,
            self.protocol,
            self.version,
        ];
        if self.version >= HAS_ENCRYPTION_SCOPE {
            lines.push(self.encryption_scope);
        }
        lines.push("");
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_table_signature_depends_on_its_version() {
        let fields = |version| TableSasFields {
            account: "myaccount",
            table: "Employees",
            version,
            permissions: "r",
            start: "2013-08-16",
            expiry: "2013-08-17",
            identifier: "id",
            ip: "168.1.5.60-168.1.5.70",
            protocol: "https",
            start_partition_key: "Jeff",
            end_row_key: "Price",
            ..TableSasFields::default()
        };
        let old = "r\n2013-08-16\n2013-08-17\n/myaccount/employees\nid\n";
        let new = "r\n2013-08-16\n2013-08-17\n/table/myaccount/employees\nid\n";
        let origin = "168.1.5.60-168.1.5.70\nhttps\n";
        for (version, before, origin) in [
            ("2012-02-12", old, ""),
            ("2013-08-15", old, ""),
            ("2014-02-14", old, ""),
            ("2015-02-21", new, ""),
            ("2015-04-05", new, origin),
            ("2020-12-06", new, origin),
        ] {
            let expected = format!("{before}{origin}{version}\nJeff\n\n\nPrice");
            assert_eq!(fields(version).string_to_sign(), expected);
        }
    }

    #[test]
    fn the_text_of_an_account_signature_depends_on_its_version() {
        let fields = |version| AccountSasFields {
            account: "myaccount",
            version,
            permissions: "rwdlau",
            services: "t",
            resource_types: "sco",
            expiry: "2022-01-01T00:00:00Z",
            encryption_scope: "scope",
            ..AccountSasFields::default()
        };
        let text = "myaccount\nrwdlau\nt\nsco\n\n2022-01-01T00:00:00Z\n\n\n";
        assert_eq!(fields("2015-04-05").string_to_sign(), format!("{text}2015-04-05\n"));
        assert_eq!(fields("2020-10-02").string_to_sign(), format!("{text}2020-10-02\n"));
        assert_eq!(fields("2020-12-06").string_to_sign(), format!("{text}2020-12-06\nscope\n"));
    }
}
