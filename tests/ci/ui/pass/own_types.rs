//! User-defined types as properties and keys, and fields that a macro wrote.

#![deny(warnings)]

use std::borrow::Cow;

use azure_table_client::edm::{ConvertError, EdmCow, EdmType, FromEdm, ToEdm};
use azure_table_client::entity::{KeyError, KeyPart};
use azure_table_client::{DynamicEntity, TableEntity};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    Good,
    Bad,
}

impl ToEdm for Mood {
    const EDM_TYPE: EdmType = EdmType::String;

    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        Ok(Some(EdmCow::String(match self {
            Self::Good => "good".into(),
            Self::Bad => "bad".into(),
        })))
    }
}

impl FromEdm for Mood {
    const EDM_TYPE: EdmType = EdmType::String;

    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        match &*String::from_edm(value)? {
            "good" => Ok(Self::Good),
            "bad" => Ok(Self::Bad),
            other => Err(ConvertError::Other(format!("{other:?} is not a mood"))),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct TenantAndYear(String, u16);

impl KeyPart for TenantAndYear {
    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(format!("{}-{:04}", self.0, self.1).into())
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        let error = || KeyError::new("not tenant-year");
        let (tenant, year) = text.rsplit_once('-').ok_or_else(error)?;
        Ok(Self(tenant.to_owned(), year.parse().map_err(|_| error())?))
    }
}

macro_rules! entity {
    ($name:ident, $table:literal { $($field:ident: $ty:ty = $stored:literal),* }) => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = $table)]
        struct $name {
            #[table(partition_key)]
            tenant: TenantAndYear,
            #[table(row_key)]
            id: String,
            $(#[table(rename = $stored)] $field: $ty,)*
        }
    };
}

entity!(Diary, "Diary" { mood: Mood = "Mood", before: Option<Mood> = "Before" });

fn main() {
    let diary = Diary {
        tenant: TenantAndYear("t".into(), 2026),
        id: "1".into(),
        mood: Mood::Good,
        before: Some(Mood::Bad),
    };
    let dynamic = DynamicEntity::from_entity(&diary).unwrap();
    assert_eq!(dynamic.key(), &("t-2026", "1").into());
    assert_eq!(dynamic.get("Mood"), Some(Ok(Mood::Good)));
    assert_eq!(dynamic.get("Before"), Some(Ok(Mood::Bad)));
}
