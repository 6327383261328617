//! The cases of the file that all clients share.

use std::collections::BTreeMap;

use azure_table_client::DynamicEntity;
use azure_table_client::EntityKey;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use serde_json::Value;

const FILE: &str = include_str!("../../../tools/clients/interop/cases.json");

/// A row that each client writes, and all others read.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) key: EntityKey,
    pub(super) property: String,
    pub(super) value: EdmValue,
    /// The exceptions of a client, by its name.
    clients: BTreeMap<String, Value>,
    /// The reason to leave the case out on Azurite.
    pub(super) azurite: Option<String>,
}

impl Case {
    /// The row without a struct.
    pub(super) fn entity(&self) -> DynamicEntity {
        let mut entity = DynamicEntity::new(&*self.key.partition_key, &*self.key.row_key);
        entity.set(&*self.property, self.value.clone());
        entity
    }

    /// The stored value if a client writes the value with its type.
    pub(super) fn written_by(&self, client: &str) -> EdmValue {
        self.particular(client, "writes").map_or_else(|| self.value.clone(), value)
    }

    /// The stored value if a client writes a value of its own language; `None` if nothing is
    /// stored.
    pub(super) fn plainly_written_by(&self, client: &str) -> Option<EdmValue> {
        if self.particular(client, "refuses_plain").is_some() {
            return None;
        }
        match self.particular(client, "plain_writes") {
            Some(Value::Null) => None,
            Some(plain) => Some(value(plain)),
            None => Some(self.value.clone()),
        }
    }

    fn particular(&self, client: &str, what: &str) -> Option<&Value> {
        self.clients.get(client)?.get(what)
    }
}

/// All cases in the order of the file.
pub(super) fn all() -> Vec<Case> {
    let cases: Vec<Value> = serde_json::from_str(FILE).unwrap();
    cases.iter().enumerate().map(|(index, stated)| case(index, stated)).collect()
}

fn case(index: usize, stated: &Value) -> Case {
    let key = |name: &str, usual: String| stated.get(name).map_or(usual, whole);
    let row_key = key("row_key", format!("{index:03}"));
    let clients = ["python", "javascript"].into_iter();
    Case {
        name: whole(&stated["name"]),
        key: EntityKey::new(key("partition_key", "interop".into()), row_key),
        property: stated.get("property").map_or_else(|| "Value".into(), whole),
        value: value(stated),
        clients: clients.filter_map(|c| Some((c.into(), stated.get(c)?.clone()))).collect(),
        azurite: stated.get("azurite").map(whole),
    }
}

/// A text of the file, where long texts are stated as repetitions.
fn whole(stated: &Value) -> String {
    match stated {
        Value::String(text) => text.clone(),
        _ => {
            let times = stated["times"].as_u64().unwrap().try_into().unwrap();
            stated["repeat"].as_str().unwrap().repeat(times)
        }
    }
}

fn value(stated: &Value) -> EdmValue {
    let given = &stated["value"];
    match stated["type"].as_str().unwrap() {
        "String" => whole(given).into(),
        "Boolean" => given.as_bool().unwrap().into(),
        "Int32" => i32::try_from(given.as_i64().unwrap()).unwrap().into(),
        "Int64" => whole(given).parse::<i64>().unwrap().into(),
        "Double" => f64::from_bits(u64::from_str_radix(&whole(given), 16).unwrap()).into(),
        "Binary" => bytes_of(&whole(given)).into(),
        "Guid" => whole(given).parse::<uuid::Uuid>().unwrap().into(),
        "DateTime" => {
            let ticks = stated["ticks"].as_str().unwrap().parse().unwrap();
            let time = EdmDateTime::from_ticks(ticks).unwrap();
            assert_eq!(time.to_string(), whole(given), "the case contradicts itself");
            time.into()
        }
        other => panic!("{other} is no Edm type"),
    }
}

fn bytes_of(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}
