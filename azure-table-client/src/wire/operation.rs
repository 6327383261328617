use std::fmt;

/// What a request asks of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Create a table.
    CreateTable,
    /// Delete a table.
    DeleteTable,
    /// Ask for one table by name.
    GetTable,
    /// List the tables.
    ListTables,
    /// Insert an entity (POST).
    Insert,
    /// Read one entity by its keys.
    Get,
    /// Query the entities of a table.
    Query,
    /// Change the named properties of an entity that exists (MERGE with If-Match).
    Merge,
    /// Replace an entity that exists (PUT with If-Match).
    Replace,
    /// MERGE without a condition: an upsert.
    InsertOrMerge,
    /// PUT without a condition: an upsert.
    InsertOrReplace,
    /// Delete an entity.
    Delete,
    /// An entity group transaction, or an operation whose keys no URL holds in a batch of its own
    /// (`$batch`).
    Transaction,
    /// Ask how far the secondary is behind.
    GetStats,
    /// Read the stored access policies of a table.
    GetTableAcl,
    /// Set the stored access policies of a table.
    SetTableAcl,
    /// Read the settings of the service: logging, metrics, CORS.
    GetServiceProperties,
    /// Set the settings of the service.
    SetServiceProperties,
    /// Anything else.
    Other,
}

impl Operation {
    /// Whether it writes one entity.
    pub(crate) const fn is_entity_write(self) -> bool {
        matches!(
            self,
            Self::Insert
                | Self::Merge
                | Self::Replace
                | Self::InsertOrMerge
                | Self::InsertOrReplace
                | Self::Delete
        )
    }

    /// Whether its documents are XML, whatever format is asked for.
    pub(crate) const fn is_in_xml(self) -> bool {
        matches!(
            self,
            Self::GetStats
                | Self::GetTableAcl
                | Self::SetTableAcl
                | Self::GetServiceProperties
                | Self::SetServiceProperties
        )
    }

    /// Whether it is about one table or what is in it.
    pub(crate) const fn is_of_table(self) -> bool {
        !matches!(
            self,
            Self::ListTables
                | Self::GetStats
                | Self::GetServiceProperties
                | Self::SetServiceProperties
        )
    }

    /// The name in errors, logs and traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CreateTable => "CreateTable",
            Self::DeleteTable => "DeleteTable",
            Self::GetTable => "GetTable",
            Self::ListTables => "ListTables",
            Self::Insert => "Insert",
            Self::Get => "Get",
            Self::Query => "Query",
            Self::Merge => "Merge",
            Self::Replace => "Replace",
            Self::InsertOrMerge => "InsertOrMerge",
            Self::InsertOrReplace => "InsertOrReplace",
            Self::Delete => "Delete",
            Self::Transaction => "Transaction",
            Self::GetStats => "GetStats",
            Self::GetTableAcl => "GetTableAcl",
            Self::SetTableAcl => "SetTableAcl",
            Self::GetServiceProperties => "GetServiceProperties",
            Self::SetServiceProperties => "SetServiceProperties",
            Self::Other => "Other",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
