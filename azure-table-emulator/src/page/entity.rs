//! The page of one entity, and the forms that add, edit and delete entities.

use azure_table_client::{DynamicEntity, ETag};

use super::copy::FORMATS;
use super::draft::Draft;
use super::entities::version_of;
use super::fields::query_of;
use super::html::Html;
use super::rows::time;
use super::values::shown;
use super::{NOTICES, Page};
use crate::accounts::Served;
use crate::shared::Shared;

/// Returns the page of one entity, or `None` if it does not exist.
pub(super) fn one(
    shared: &Shared,
    account: &Served,
    table: &str,
    (partition_key, row_key): (&str, &str),
    done: &str,
) -> Option<Page> {
    let Served { name, service, .. } = account;
    let row = service.row(table, partition_key, row_key)?;
    let query = query_of((partition_key, row_key));
    let mut body = Html::default();
    body.trail(name, table, Some("entity")).raw("<h1>Entity</h1>");
    if let Some((_, notice)) = NOTICES.iter().find(|(known, _)| *known == done) {
        body.raw("<p class=\"done\" role=\"status\">").raw(notice).raw("</p>");
    }
    body.raw("<div class=\"tools\">");
    if shared.page.can_write {
        body.raw("<a class=\"button\" href=\"").path(name, table).raw("/edit").text(&query);
        body.raw("\">Edit</a><form method=\"post\" action=\"").path(name, table);
        body.raw("/delete\">").secrets(&shared.page);
        body.hidden("row", &version_of(&row));
        body.raw("<button class=\"danger\">Delete</button></form>");
    }
    body.raw("<span>Copy as ");
    for (format, label) in FORMATS {
        body.raw("<a href=\"").path(name, table).raw("/copy").text(&query).raw("&amp;as=");
        body.raw(format).raw("\">").raw(label).raw("</a> ");
    }
    body.raw("</span></div><div id=\"entity\" data-live>");
    body.raw("<div class=\"scroll\" role=\"region\" aria-label=\"Properties\" tabindex=\"0\">");
    body.raw("<table class=\"narrow\"><caption>").counted(row.properties().len(), "value");
    body.raw(" besides the keys</caption><thead><tr><th scope=\"col\">Property</th>");
    body.raw("<th scope=\"col\">Edm type</th><th scope=\"col\">Value</th></tr></thead><tbody>");
    property(&mut body, "PartitionKey", "Edm.String", partition_key);
    property(&mut body, "RowKey", "Edm.String", row_key);
    property(&mut body, "Timestamp", "Edm.DateTime", &time(&row));
    property(&mut body, "ETag", "", row.etag().map(ETag::as_str).unwrap_or_default());
    for (name, value) in row.properties() {
        property(&mut body, name, value.edm_type().as_str(), &shown(value));
    }
    body.raw("</tbody></table></div></div>");
    Some(Page { title: format!("{partition_key}, {row_key} - {table} - {name}"), body })
}

fn property(body: &mut Html, name: &str, edm_type: &str, value: &str) {
    body.raw("<tr><th scope=\"row\">").text(name).raw("</th><td class=\"type\">").text(edm_type);
    body.raw("</td><td class=\"value\">").bdi(value).raw("</td></tr>");
}

/// The form of an entity.
pub(super) struct Form<'a> {
    pub(super) shared: &'a Shared,
    pub(super) account: &'a Served,
    pub(super) table: &'a str,
    pub(super) draft: &'a Draft,
    /// The entity as it is stored, if the form edits one.
    pub(super) stored: Option<&'a DynamicEntity>,
    /// Errors of the last submission.
    pub(super) errors: &'a [String],
    /// Another program changed the entity after the form was opened.
    pub(super) is_conflict: bool,
}

impl Form<'_> {
    pub(super) fn page(&self) -> Page {
        let Self { account, table, draft, .. } = *self;
        let query = query_of((&draft.partition_key, &draft.row_key));
        let (title, below) = match self.stored {
            Some(_) => ("Edit entity", "edit"),
            None => ("Add entity", "add"),
        };
        let mut body = Html::default();
        body.trail(&account.name, table, Some(below)).raw("<h1>").raw(title).raw("</h1>");
        for error in self.errors {
            body.alert(error);
        }
        if let Some(stored) = self.stored.filter(|_| self.is_conflict) {
            self.conflict(&mut body, stored);
        }
        body.raw("<form class=\"entity\" method=\"post\" action=\"");
        body.path(&account.name, table).raw("/").raw(below);
        if self.stored.is_some() {
            body.text(&query);
        }
        body.raw("\">").secrets(&self.shared.page);
        match self.stored {
            Some(stored) => {
                let etag = stored.etag().map(ETag::as_str).unwrap_or_default();
                body.hidden("etag", etag).hidden("PartitionKey", &draft.partition_key);
                body.hidden("RowKey", &draft.row_key).raw("<p>PartitionKey: <b>");
                body.bdi(&draft.partition_key).raw("</b>, RowKey: <b>").bdi(&draft.row_key);
                body.raw("</b></p>");
            }
            None => {
                for (name, value) in
                    [("PartitionKey", &draft.partition_key), ("RowKey", &draft.row_key)]
                {
                    body.raw("<label>").raw(name).raw("<input autocomplete=\"off\" name=\"");
                    body.raw(name).raw("\" spellcheck=\"false\" value=\"").text(value);
                    body.raw("\"></label>");
                }
            }
        }
        draft.write(&mut body, self.stored);
        body.raw("<div class=\"tools\"><button class=\"main\" name=\"action\" value=\"save\">");
        body.raw(match self.stored {
            Some(_) if self.is_conflict => "Overwrite",
            Some(_) => "Save",
            None => "Insert",
        });
        body.raw("</button><button name=\"action\" value=\"more\">More properties</button>");
        body.raw("<a class=\"button\" href=\"").path(&account.name, table);
        if self.stored.is_some() {
            body.raw("/entity").text(&query);
        }
        body.raw("\">Cancel</a></div></form>");
        Page { title: format!("{title} - {table} - {}", account.name), body }
    }

    /// Shows the stored values and those of the form.
    fn conflict(&self, body: &mut Html, stored: &DynamicEntity) {
        body.alert(
            "Another program changed this entity after you opened the form. Nothing was saved. \
             \u{201c}Overwrite\u{201d} replaces its values by yours.",
        );
        let typed = self.draft.entity(Some(stored)).unwrap_or_else(|_| DynamicEntity::new("", ""));
        body.raw("<table class=\"narrow\"><caption>Differences</caption><thead><tr>");
        body.raw("<th scope=\"col\">Property</th><th scope=\"col\">Stored now</th>");
        body.raw("<th scope=\"col\">Yours</th></tr></thead><tbody>");
        let mut names: Vec<&str> = stored.properties().map(|(name, _)| name).collect();
        names.extend(
            typed.properties().map(|(name, _)| name).filter(|name| stored.value(name).is_none()),
        );
        for name in names {
            let (old, new) = (stored.value(name), typed.value(name));
            if old == new {
                continue;
            }
            body.raw("<tr><th scope=\"row\">").text(name).raw("</th>");
            for value in [old, new] {
                body.raw("<td class=\"value\">");
                match value {
                    Some(value) => {
                        body.bdi(&shown(value)).raw(" <span class=\"type\">");
                        body.text(value.edm_type().as_str()).raw("</span></td>");
                    }
                    None => _ = body.raw("<span class=\"more\">none</span></td>"),
                }
            }
            body.raw("</tr>");
        }
        body.raw("</tbody></table>");
    }
}

/// The form that confirms the deletion of these rows. Errors are those of the last attempt.
pub(super) fn confirm_delete(
    shared: &Shared,
    account: &Served,
    table: &str,
    rows: &[DynamicEntity],
    (view, errors): (&str, &[String]),
) -> Page {
    let mut body = Html::default();
    body.trail(&account.name, table, Some("delete")).raw("<h1>Delete ");
    body.counted_as(rows.len(), "entity", "entities").raw("?</h1>");
    for error in errors {
        body.alert(error);
    }
    if rows.is_empty() {
        body.raw("<div class=\"tools\">");
    } else {
        body.raw("<form method=\"post\" action=\"").path(&account.name, table);
        body.raw("/delete\">").secrets(&shared.page);
        body.hidden("confirmed", "yes").hidden("view", view);
        body.raw("<table class=\"narrow\"><caption>Entities</caption><thead><tr>");
        body.raw("<th scope=\"col\">PartitionKey</th><th scope=\"col\">RowKey</th>");
        body.raw("<th scope=\"col\">Timestamp</th></tr></thead><tbody>");
        for row in rows {
            body.raw("<tr><td>").bdi(&row.key().partition_key).raw("</td><td>");
            body.bdi(&row.key().row_key).raw("</td><td class=\"time\">").text(&time(row));
            body.hidden("row", &version_of(row)).raw("</td></tr>");
        }
        body.raw("</tbody></table><div class=\"tools\"><button class=\"danger\">Delete</button>");
    }
    body.raw("<a class=\"button\" href=\"").path(&account.name, table).text(view);
    body.raw("\">Cancel</a></div>").raw(if rows.is_empty() { "" } else { "</form>" });
    Page { title: format!("Delete - {table} - {}", account.name), body }
}
