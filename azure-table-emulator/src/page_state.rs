//! The state of the page between requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fmt, io};

use azure_table_client::DynamicEntity;
use azure_table_client::clock::{Clock as _, SystemClock};

use crate::options::Options;

/// The number of tables whose columns are remembered.
const TABLES: usize = 1000;
/// The number of columns of a table that are remembered.
const COLUMNS: usize = 1000;

pub(crate) struct PageState {
    pub(crate) can_write: bool,
    /// The secret that every form of this process contains.
    pub(crate) token: String,
    /// The number of changes that the page made.
    writes: AtomicUsize,
    /// The columns that were seen, by account and table. A column stays if a later page has no value for it.
    columns: Mutex<HashMap<(String, String), Vec<String>>>,
}

impl PageState {
    /// The page can change tables, unless other machines can reach it without a control token. Fails if the operating
    /// system has no random source.
    pub(crate) fn new(options: &Options, is_loopback: bool) -> io::Result<Self> {
        let is_protected = is_loopback || options.control_token.is_some();
        Ok(Self { can_write: !options.read_only && is_protected, ..Self::with_token()? })
    }

    fn with_token() -> io::Result<Self> {
        let mut secret = [0; 16];
        SystemClock.fill_random(&mut secret)?;
        Ok(Self {
            can_write: true,
            token: format!("{:032x}", u128::from_be_bytes(secret)),
            writes: AtomicUsize::new(0),
            columns: Mutex::default(),
        })
    }

    pub(crate) fn count_write(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// Returns the columns of a table: those seen before, then the new ones of these rows.
    pub(crate) fn columns(
        &self,
        account: &str,
        table: &str,
        rows: &[DynamicEntity],
    ) -> Vec<String> {
        let key = (account.to_owned(), table.to_ascii_lowercase());
        let mut tables = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if tables.len() >= TABLES && !tables.contains_key(&key) {
            tables.clear();
        }
        let columns = tables.entry(key).or_default();
        for (name, _) in rows.iter().flat_map(DynamicEntity::properties) {
            if columns.len() < COLUMNS && !columns.iter().any(|known| known == name) {
                columns.push(name.to_owned());
            }
        }
        columns.clone()
    }

    /// Forgets the columns of a deleted table.
    pub(crate) fn forget(&self, account: &str, table: &str) {
        let key = (account.to_owned(), table.to_ascii_lowercase());
        self.columns.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }
}

impl fmt::Debug for PageState {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageState").field("can_write", &self.can_write).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_and_tokens_differ() {
        let state = PageState::with_token().unwrap();
        let row = |name: &str| DynamicEntity::new("p", "r").with(name, 1);
        assert_eq!(state.columns("a", "T", &[row("X"), row("Y")]), ["X", "Y"]);
        assert_eq!(state.columns("a", "t", &[row("Z")]), ["X", "Y", "Z"]);
        assert_eq!(state.columns("b", "T", &[row("Z")]), ["Z"]);
        state.forget("a", "T");
        assert_eq!(state.columns("a", "T", &[]), [""; 0]);
        assert_eq!(state.token.len(), 32);
        assert_ne!(state.token, PageState::with_token().unwrap().token);
    }
}
