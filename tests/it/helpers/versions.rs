//! The version in the returned entity.

use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, ETag, Outcome, TableClient, TableEntity};

const KEY: (&str, &str) = ("p", "r");

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Note {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    r: String,
    hits: i32,
    #[table(etag)]
    version: Option<ETag>,
    #[table(timestamp)]
    changed: Option<EdmDateTime>,
}

fn note() -> Note {
    Note { p: "p".into(), r: "r".into(), hits: 1, version: None, changed: None }
}

async fn notes() -> TableClient<Note> {
    let notes = MockTableService::new().client().table_named::<Note>("Notes");
    notes.create().await.unwrap();
    notes
}

#[tokio::test]
async fn a_struct_has_the_version_of_the_write() {
    let notes = notes().await;
    let (inserted, outcome) = notes.get_or_insert(&note()).await.unwrap();
    assert_eq!(outcome, Outcome::Applied);
    assert_eq!(inserted.version.as_ref(), Some(&inserted.etag));
    let (found, _) = notes.get_or_insert(&note()).await.unwrap();
    assert_eq!(found.version, inserted.version);

    let mut updated = notes.update_with(KEY, |n| n.hits = 2).await.unwrap();
    assert_eq!(updated.version.as_ref(), Some(&updated.etag));
    assert_eq!(updated.changed, found.changed, "the response to a write lacks it");
    updated.entity.hits = 3;
    let version = updated.entity.version.clone().unwrap();
    notes.merge(&updated.entity, version).await.unwrap();
    let replaced = notes.update_with(KEY, |n| n.hits = 4).replace().await.unwrap();
    assert_eq!(replaced.version.as_ref(), Some(&replaced.etag));
}

#[tokio::test]
async fn a_dynamic_entity_has_the_version_of_the_write() {
    let rows = notes().await.with_entity::<DynamicEntity>();
    let (inserted, _) = rows.get_or_insert(&DynamicEntity::new("p", "r")).await.unwrap();
    assert_eq!(inserted.entity.etag(), Some(&inserted.etag));
    let change = |row: &mut DynamicEntity| {
        row.set("hits", 1);
    };
    let updated = rows.update_with(KEY, change).await.unwrap();
    assert_eq!(updated.entity.etag(), Some(&updated.etag));
    assert_eq!(updated.timestamp(), None, "the response to a write lacks it");
}

#[tokio::test]
async fn enums_and_required_etags_have_the_version_of_the_write() {
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    struct Strict {
        #[table(partition_key)]
        p: String,
        #[table(row_key)]
        r: String,
        #[table(etag)]
        version: ETag,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(discriminator = "Kind")]
    enum Kinds {
        Note(Note),
        Strict(Strict),
    }

    let kinds = notes().await.with_entity::<Kinds>();
    let (obtained, _) = kinds.get_or_insert(&Kinds::Note(note())).await.unwrap();
    let Kinds::Note(note) = &obtained.entity else { panic!() };
    assert_eq!(note.version.as_ref(), Some(&obtained.etag));
    let strict = Strict { p: "p".into(), r: "s".into(), version: ETag::from("none yet") };
    let (obtained, _) = kinds.get_or_insert(&Kinds::Strict(strict)).await.unwrap();
    let Kinds::Strict(strict) = &obtained.entity else { panic!() };
    assert_eq!(strict.version, obtained.etag);
}
