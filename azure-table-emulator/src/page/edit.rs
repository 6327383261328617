//! The actions that change data. Each is a form of the page, which [`guard`](super::guard) has checked.

use azure_table_client::{DynamicEntity, ETag, Error, TableClient};
use http::StatusCode;

use super::draft::Draft;
use super::entity::{Form, confirm_delete};
use super::fields::{Fields, query_of};
use super::html::Html;
use super::view::View;
use super::{Page, Reply, tables};
use crate::accounts::Served;
use crate::shared::Shared;

/// The table that an action is about.
pub(super) struct Target<'a> {
    pub(super) shared: &'a Shared,
    pub(super) account: &'a Served,
    pub(super) table: &'a str,
}

fn bad(page: Page) -> Reply {
    Reply::Page(StatusCode::BAD_REQUEST, page)
}

/// Creates a table.
pub(super) async fn add_table(shared: &Shared, account: &Served, fields: &Fields) -> Reply {
    let table = fields.get("table").trim();
    match account.service.direct_client().create_table(table).await {
        Ok(_) => {
            shared.page.count_write();
            Reply::SeeOther(format!("/-/{}/{table}?done=table", account.name))
        }
        Err(error) => bad(tables::page(shared, Some((&account.name, &error.to_string())))),
    }
}

impl Target<'_> {
    fn client(&self) -> TableClient<DynamicEntity> {
        self.account.service.direct_client().table_named(self.table)
    }

    fn stored(&self, (partition_key, row_key): (&str, &str)) -> Option<DynamicEntity> {
        self.account.service.row(self.table, partition_key, row_key)
    }

    /// The form of a new entity.
    pub(super) fn add_form(&self) -> Page {
        self.form(&Draft::default(), None, &[], false)
    }

    /// The form of a stored entity.
    pub(super) fn edit_form(&self, keys: (&str, &str)) -> Option<Page> {
        let stored = self.stored(keys)?;
        Some(self.form(&Draft::of_entity(&stored), Some(&stored), &[], false))
    }

    fn form(
        &self,
        draft: &Draft,
        stored: Option<&DynamicEntity>,
        errors: &[String],
        is_conflict: bool,
    ) -> Page {
        let Self { shared, account, table } = *self;
        Form { shared, account, table, draft, stored, errors, is_conflict }.page()
    }

    fn to_entity(&self, draft: &Draft, done: &str) -> Reply {
        self.shared.page.count_write();
        let query = query_of((&draft.partition_key, &draft.row_key));
        Reply::SeeOther(format!(
            "/-/{}/{}/entity{query}&done={done}",
            self.account.name, self.table
        ))
    }

    /// Inserts an entity.
    pub(super) async fn insert(&self, fields: &Fields) -> Reply {
        let draft = Draft::of_fields(fields);
        if fields.get("action") == "more" {
            return Reply::Page(StatusCode::OK, self.form(&draft, None, &[], false));
        }
        let entity = match draft.entity(None) {
            Ok(entity) => entity,
            Err(errors) => return bad(self.form(&draft, None, &errors, false)),
        };
        match self.client().insert(&entity).await {
            Ok(_) => self.to_entity(&draft, "inserted"),
            Err(error) => bad(self.form(&draft, None, &[error.to_string()], false)),
        }
    }

    /// Replaces an entity, if it has the version that the form was opened with.
    pub(super) async fn replace(&self, fields: &Fields) -> Reply {
        let draft = Draft::of_fields(fields);
        let Some(stored) = self.stored(fields.keys()) else { return self.deleted() };
        if fields.get("action") == "more" {
            // The form keeps the version that it was opened with.
            let mut stored = stored;
            azure_table_client::TableEntity::set_etag(&mut stored, &ETag::from(fields.get("etag")));
            return Reply::Page(StatusCode::OK, self.form(&draft, Some(&stored), &[], false));
        }
        let is_current = stored.etag().is_some_and(|etag| etag.as_str() == fields.get("etag"));
        if !is_current {
            return self.conflict(&draft, &stored);
        }
        let entity = match draft.entity(Some(&stored)) {
            Ok(entity) => entity,
            Err(errors) => return bad(self.form(&draft, Some(&stored), &errors, false)),
        };
        match self.client().replace(&entity, ETag::from(fields.get("etag"))).await {
            Ok(_) => self.to_entity(&draft, "saved"),
            Err(error) if error.is_precondition_failed() => match self.stored(fields.keys()) {
                Some(stored) => self.conflict(&draft, &stored),
                None => self.deleted(),
            },
            Err(error) if error.is_not_found() => self.deleted(),
            Err(error) => bad(self.form(&draft, Some(&stored), &[error.to_string()], false)),
        }
    }

    fn conflict(&self, draft: &Draft, stored: &DynamicEntity) -> Reply {
        Reply::Page(StatusCode::CONFLICT, self.form(draft, Some(stored), &[], true))
    }

    fn deleted(&self) -> Reply {
        let mut body = Html::default();
        body.trail(&self.account.name, self.table, Some("edit")).raw("<h1>Not saved</h1>");
        body.alert("Another program deleted this entity after you opened the form.");
        Reply::Page(StatusCode::CONFLICT, Page { title: "Not saved".into(), body })
    }

    /// Deletes the selected entities, once the person has confirmed it. Entities that changed since they
    /// were shown are kept and shown again.
    pub(super) async fn delete(&self, fields: &Fields) -> Reply {
        let view = View::of(&Fields::parse(fields.get("view").trim_start_matches('?').as_bytes()));
        let view = view.query();
        let selected: Vec<Fields> =
            fields.all("row").map(|row| Fields::parse(row.as_bytes())).collect();
        let (mut left, mut errors) = (Vec::new(), Vec::new());
        for row in &selected {
            let Some(stored) = self.stored(row.keys()) else { continue };
            if fields.get("confirmed") != "yes" {
                left.push(stored);
                continue;
            }
            let deleted = self.client().delete(row.keys(), ETag::from(row.get("ETag"))).await;
            match deleted {
                Ok(_) => self.shared.page.count_write(),
                Err(error) if error.is_not_found() => {}
                Err(error) => {
                    errors.push(refusal(row.keys(), &error));
                    left.extend(self.stored(row.keys()));
                }
            }
        }
        if selected.is_empty() {
            errors.push("No entity is selected.".to_owned());
        }
        let Self { shared, account, table } = *self;
        if left.is_empty() && errors.is_empty() {
            let separator = if view.is_empty() { "?" } else { "&" };
            let to = format!("/-/{}/{table}{view}{separator}done=deleted", account.name);
            return Reply::SeeOther(to);
        }
        let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::CONFLICT };
        Reply::Page(status, confirm_delete(shared, account, table, &left, (&view, &errors)))
    }

    /// The form that confirms the deletion of the table.
    pub(super) fn delete_table_form(&self, error: Option<&str>) -> Option<Page> {
        let Self { shared, account, table } = *self;
        let count = account.service.row_count(table)?;
        let mut body = Html::default();
        body.trail(&account.name, table, Some("delete")).raw("<h1>Delete the table ").text(table);
        body.raw("?</h1>");
        if let Some(error) = error {
            body.alert(error);
        }
        body.raw("<p>The table has ").counted(count, "row").raw(". All are deleted with it.</p>");
        body.raw("<form class=\"tools\" method=\"post\" action=\"").path(&account.name, table);
        body.raw("/delete-table\">").secrets(&shared.page);
        body.raw("<button class=\"danger\">Delete table</button><a class=\"button\" href=\"");
        body.path(&account.name, table).raw("\">Cancel</a></form>");
        Some(Page { title: format!("Delete {table} - {}", account.name), body })
    }

    pub(super) async fn delete_table(&self) -> Reply {
        let Self { shared, account, table } = *self;
        match account.service.direct_client().delete_table(table).await {
            Ok(_) => {
                shared.page.count_write();
                shared.page.forget(&account.name, table);
                Reply::SeeOther("/-/?done=table-deleted".into())
            }
            Err(error) => {
                self.delete_table_form(Some(&error.to_string())).map_or(Reply::Missing, bad)
            }
        }
    }
}

fn refusal((partition_key, row_key): (&str, &str), error: &Error) -> String {
    if error.is_precondition_failed() {
        format!("{partition_key}, {row_key} was changed by another program and is not deleted.")
    } else {
        format!("{partition_key}, {row_key} is not deleted: {error}")
    }
}
