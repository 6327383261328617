//! The rows of the cases as structs.

use azure_table_client::edm::{EdmDateTime, EdmType, EdmValue};
use azure_table_client::{DynamicEntity, TableClient, TableEntity};
use uuid::Uuid;

use super::cases::Case;

/// A row with one property of one type.
#[derive(TableEntity)]
struct One<T> {
    #[table(partition_key)]
    partition_key: String,
    #[table(row_key)]
    row_key: String,
    #[table(rename = "Value")]
    value: T,
}

/// A row with one of these properties.
#[derive(Default, TableEntity)]
struct Names {
    #[table(partition_key)]
    partition_key: String,
    #[table(row_key)]
    row_key: String,
    #[table(rename = "Größe")]
    latin: Option<String>,
    #[table(rename = "名前")]
    japanese: Option<String>,
    #[table(rename = "Цена")]
    cyrillic: Option<String>,
    #[table(rename = "שם")]
    hebrew: Option<String>,
    #[table(rename = "Άλφα")]
    greek: Option<String>,
    #[table(rename = "_x_1")]
    underscores: Option<String>,
    entry: Option<String>,
    partitionkey: Option<String>,
}

impl Names {
    /// The field of a property; `None` for the name of 255 characters, for which the struct has no
    /// field.
    fn field(&mut self, name: &str) -> Option<&mut Option<String>> {
        Some(match name {
            "Größe" => &mut self.latin,
            "名前" => &mut self.japanese,
            "Цена" => &mut self.cyrillic,
            "שם" => &mut self.hebrew,
            "Άλφα" => &mut self.greek,
            "_x_1" => &mut self.underscores,
            "entry" => &mut self.entry,
            "partitionkey" => &mut self.partitionkey,
            _ => return None,
        })
    }
}

/// Inserts the row of a case from a struct.
pub(super) async fn insert(table: &TableClient<DynamicEntity>, case: &Case) {
    if case.property != "Value" {
        let mut names = Names {
            partition_key: case.key.partition_key.clone(),
            row_key: case.key.row_key.clone(),
            ..Names::default()
        };
        let Some(field) = names.field(&case.property) else {
            return insert_entity(table, case, &case.entity()).await;
        };
        *field = case.value.get().ok();
        return insert_entity(table, case, &names).await;
    }
    match case.value.clone() {
        EdmValue::String(value) => insert_one(table, case, value).await,
        EdmValue::Boolean(value) => insert_one(table, case, value).await,
        EdmValue::Int32(value) => insert_one(table, case, value).await,
        EdmValue::Int64(value) => insert_one(table, case, value).await,
        EdmValue::Double(value) => insert_one(table, case, value).await,
        EdmValue::DateTime(value) => insert_one(table, case, value).await,
        EdmValue::Guid(value) => insert_one(table, case, value).await,
        EdmValue::Binary(value) => insert_one(table, case, value.to_vec()).await,
    }
}

/// Reads the row of a case into a struct and returns the value of the property, or `None` if the
/// struct lacks it.
pub(super) async fn get(table: &TableClient<DynamicEntity>, case: &Case) -> Option<EdmValue> {
    if case.property != "Value" {
        let mut read = table.with_entity::<Names>().get(&case.key).await.unwrap().into_inner();
        let value = read.field(&case.property)?.take();
        return Some(value.expect(&case.name).into());
    }
    Some(match case.value.edm_type() {
        EdmType::String => get_one::<String>(table, case).await,
        EdmType::Boolean => get_one::<bool>(table, case).await,
        EdmType::Int32 => get_one::<i32>(table, case).await,
        EdmType::Int64 => get_one::<i64>(table, case).await,
        EdmType::Double => get_one::<f64>(table, case).await,
        EdmType::DateTime => get_one::<EdmDateTime>(table, case).await,
        EdmType::Guid => get_one::<Uuid>(table, case).await,
        EdmType::Binary => get_one::<Vec<u8>>(table, case).await,
    })
}

async fn insert_one<T>(table: &TableClient<DynamicEntity>, case: &Case, value: T)
where
    One<T>: TableEntity,
{
    let partition_key = case.key.partition_key.clone();
    let one = One { partition_key, row_key: case.key.row_key.clone(), value };
    insert_entity(table, case, &one).await;
}

async fn insert_entity<E: TableEntity>(
    table: &TableClient<DynamicEntity>,
    case: &Case,
    entity: &E,
) {
    let inserted = table.with_entity::<E>().insert(entity).await;
    inserted.unwrap_or_else(|error| panic!("{}: {error}", case.name));
}

async fn get_one<T>(table: &TableClient<DynamicEntity>, case: &Case) -> EdmValue
where
    One<T>: TableEntity + Send + 'static,
    T: Into<EdmValue>,
{
    table.with_entity::<One<T>>().get(&case.key).await.unwrap().into_inner().value.into()
}
