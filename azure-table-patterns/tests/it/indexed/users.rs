//! The entity of the tests, with an index of each kind.

use std::collections::BTreeSet;

use azure_table_client::entity::Escaped;
use azure_table_client::entity::KeyPart as _;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, TableEntity};

pub(super) const TABLE: &str = "Users";
pub(super) const INDEX: &str = "UsersIndex";

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
#[table(name = "Users", rename_all = "PascalCase")]
#[table(index(by = email, unique), index(by = city))]
#[table(index(by = nick, unique, in_partition), index(by = team, in_partition))]
pub(super) struct User {
    #[table(partition_key)]
    pub(super) group: String,
    #[table(row_key)]
    pub(super) id: String,
    pub(super) email: Option<String>,
    pub(super) city: Option<String>,
    pub(super) nick: Option<String>,
    pub(super) team: Option<String>,
    /// The write that left this version.
    pub(super) stamp: i64,
}

impl User {
    pub(super) fn new(group: &str, id: &str) -> Self {
        Self { group: group.to_owned(), id: id.to_owned(), ..Self::default() }
    }

    pub(super) fn email(self, email: &str) -> Self {
        Self { email: Some(email.to_owned()), ..self }
    }

    pub(super) fn city(self, city: &str) -> Self {
        Self { city: Some(city.to_owned()), ..self }
    }

    pub(super) fn nick(self, nick: &str) -> Self {
        Self { nick: Some(nick.to_owned()), ..self }
    }

    pub(super) fn team(self, team: &str) -> Self {
        Self { team: Some(team.to_owned()), ..self }
    }

    /// The values in the order of the indexes.
    pub(super) fn values(&self) -> [Option<&str>; 4] {
        [&self.email, &self.city, &self.nick, &self.team].map(|it| it.as_deref())
    }
}

type Place = (String, String);

/// The table and the key of the index row by which a user has a value; `index` is the position in `User::INDEXES`.
pub(super) fn place(index: usize, value: &str, (group, id): (&str, &str)) -> (&'static str, Place) {
    let [text, row] = [value, id].map(escaped);
    match index {
        0 => (INDEX, (format!("Email!{text}"), "unique".to_owned())),
        1 => (INDEX, (format!("City!{text}"), format!("{}!{row}", escaped(group)))),
        2 => (TABLE, (group.to_owned(), format!("!!index!Nick!{text}"))),
        _ => (TABLE, (group.to_owned(), format!("!!index!Team!{text}!{row}"))),
    }
}

fn escaped(text: &str) -> String {
    Escaped(text.to_owned()).to_key().unwrap().into_owned()
}

/// Compares the rows of the indexes with the entities, without the code under test. Returns the differences.
pub(super) fn differences(mock: &MockTableService) -> Vec<String> {
    let (mut expected, mut found) = (BTreeSet::new(), BTreeSet::new());
    let mut emails = BTreeSet::new();
    for row in mock.rows(TABLE).unwrap_or_default() {
        let (partition, id) = (row.key().partition_key.clone(), row.key().row_key.clone());
        if id.starts_with("!!index!") {
            found.insert(of_row(&row));
        } else if !id.starts_with("!!") {
            let user: User = row.to_entity().unwrap();
            for (index, value) in user.values().into_iter().enumerate() {
                let Some(value) = value else { continue };
                let (_, place) = place(index, value, (&partition, &id));
                if index == 0 && !emails.insert(value.to_owned()) {
                    expected.insert((place.clone(), ("two".into(), "owners".into()), true));
                }
                expected.insert((place, (partition.clone(), id.clone()), true));
            }
        }
    }
    found.extend(mock.rows(INDEX).unwrap_or_default().iter().map(of_row));
    let missing = expected.difference(&found).map(|it| format!("missing index row {it:?}"));
    let superfluous = found.difference(&expected).map(|it| format!("superfluous index row {it:?}"));
    missing.chain(superfluous).collect()
}

/// The key of an index row, the key of its entity, and whether the row is confirmed.
fn of_row(row: &DynamicEntity) -> (Place, Place, bool) {
    (
        (row.key().partition_key.clone(), row.key().row_key.clone()),
        target(row),
        row.get::<bool>("Confirmed").unwrap().unwrap(),
    )
}

/// The key of the entity of an index row.
pub(super) fn target(row: &DynamicEntity) -> Place {
    let text = |name: &str| row.get::<String>(name).unwrap().unwrap();
    (text("TargetPartition"), text("TargetRow"))
}
