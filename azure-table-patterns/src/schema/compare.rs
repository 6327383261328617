//! The rules: which rows a reader reads, and as the same values.

use azure_table_client::entity::schema::{
    Absent, KeyElement, Layout, Others, PropertySchema, Schema,
};

use super::Problem;
use super::snapshot::{KindList, Snapshot, claims, reads_name};
use super::values::{self, Rows};
use super::write;

impl Snapshot {
    /// Returns the reasons why `current` could not read the rows of this snapshot, or would read another value. The
    /// change is compatible if the list is empty.
    pub fn problems(&self, current: &Self) -> Vec<Problem> {
        problems(self, current, Rows::All)
    }

    /// Returns the reasons why programs of this snapshot could not read the rows that `current` writes: both run side by
    /// side while a new version is deployed.
    pub fn rolling_problems(&self, current: &Self) -> Vec<Problem> {
        problems(current, self, Rows::Written)
    }
}

/// Returns the reasons why the reader could not read the rows, or would read another value.
fn problems(rows: &Snapshot, reader: &Snapshot, which: Rows) -> Vec<Problem> {
    let mut found = Found { within: String::new(), which, list: Vec::new() };
    found.compare(rows, reader);
    found.list
}

struct Found {
    /// The kinds around the properties, for messages.
    within: String,
    which: Rows,
    list: Vec<Problem>,
}

impl Found {
    fn add(&mut self, what: &str, why: impl Into<String>) {
        self.list.push(Problem { what: format!("{}{what}", self.within), why: why.into() });
    }

    fn compare(&mut self, rows: &Snapshot, reader: &Snapshot) {
        if let (Some(before), Some(after)) = (&rows.schema.table, &reader.schema.table)
            && before != after
        {
            self.add("the table", format!("the rows are in {before:?}, and {after:?} is read"));
        }
        self.keys(&rows.schema, &reader.schema);
        self.properties(rows, &reader.schema);
        match (&rows.kinds, &reader.kinds) {
            (None, None) => {}
            (Some(rows), Some(reader)) => self.kinds(rows, reader),
            _ => self.add(
                "the entity",
                "a struct and an enum of entities read each other's rows only by the discriminator",
            ),
        }
    }

    fn keys(&mut self, rows: &Schema, reader: &Schema) {
        for (what, rows, reader) in [
            ("the PartitionKey", &rows.partition_key, &reader.partition_key),
            ("the RowKey", &rows.row_key, &reader.row_key),
        ] {
            let is_described = !rows.is_empty() && !reader.is_empty();
            let is_alike = rows.len() == reader.len()
                && rows.iter().zip(reader).all(|(rows, reader)| has_texts_of(rows, reader));
            if is_described && !is_alike {
                let (was, is) = (write::key(rows), write::key(reader));
                self.add(
                    what,
                    format!("the form changed, but rows keep their keys: from `{was}` to `{is}`"),
                );
            }
        }
        self.exchanged_keys(rows, reader);
    }

    /// Fields of the same form that change places would be read with each other's values.
    fn exchanged_keys(&mut self, rows: &Schema, reader: &Schema) {
        let keys = [(&rows.partition_key, &reader.partition_key), (&rows.row_key, &reader.row_key)];
        let elements = keys.into_iter().flat_map(|(rows, reader)| rows.iter().zip(reader));
        let names: Vec<_> = elements
            .filter_map(|(rows, reader)| match (rows, reader) {
                (KeyElement::Field { name: was, .. }, KeyElement::Field { name: is, .. }) => {
                    Some((was, is))
                }
                _ => None,
            })
            .collect();
        for (was, is) in names.iter().filter(|(was, is)| was != is) {
            let moved =
                |(other, now): &(&String, &String)| other == is || now == is && other != was;
            if names.iter().any(moved) {
                let why = format!("it is read from the place of {was:?} in the keys of the rows");
                self.add(&format!("the field {is:?}"), why);
            }
        }
    }

    fn properties(&mut self, rows: &Snapshot, reader: &Schema) {
        let removed = if self.which == Rows::All { &rows.removed[..] } else { &[] };
        let former = rows.schema.properties.iter().map(|property| (property, false));
        let former: Vec<_> =
            former.chain(removed.iter().map(|property| (property, true))).collect();
        let mut readers = Vec::new();
        for (property, is_removed) in &former {
            let found = self.readers(property, &reader.properties);
            match found[..] {
                [] => {
                    self.unread(property, *is_removed, reader);
                    self.renamed(property, reader);
                }
                [by] => {
                    self.property(property, by, *is_removed);
                    self.whole_group(property, by, rows, reader);
                }
                _ => {
                    let names: Vec<_> = found.iter().map(|by| format!("{:?}", by.name)).collect();
                    let why = "its names belong to several properties now";
                    self.about(property, format!("{why}: {}", names.join(", ")));
                }
            }
            for by in found {
                if let Some((_, other)) = readers.iter().find(|(name, _)| *name == by.name) {
                    let why = "it reads two properties of the rows";
                    self.about(by, format!("{why}: {other:?}, {:?}", property.name));
                }
                readers.push((&*by.name, &*property.name));
            }
        }
        if rows.schema.others == Others::Kept && reader.others == Others::Refused {
            self.add("the entity", "rows may have properties without a field, which are refused");
        }
        let is_read = |by: &PropertySchema| readers.iter().any(|(name, _)| *name == by.name);
        for by in reader.properties.iter().filter(|by| !is_read(by)) {
            // A group without a property in the rows is missing as a whole.
            let is_missing = by.groups.last().is_some_and(|group| {
                let mut members = reader.properties.iter();
                !members.any(|member| member.groups.contains(group) && is_read(member))
            });
            if by.absent == Absent::Required && !is_missing {
                self.about(by, "rows do not have it, and it is required");
            }
        }
        self.exchanged(&rows.schema.properties, &reader.properties);
    }

    /// Reports properties that are added in the change that removes another one: they may be its new name.
    fn exchanged(&mut self, rows: &[PropertySchema], reader: &[PropertySchema]) {
        if self.which == Rows::Written {
            return;
        }
        let read: Vec<_> = rows.iter().map(|row| self.readers(row, reader)).collect();
        let Some((gone, _)) = rows.iter().zip(&read).find(|(_, by)| by.is_empty()) else { return };
        for by in reader.iter().filter(|by| !read.iter().flatten().any(|known| known == by)) {
            self.about(
                by,
                format!(
                    "it is added as {:?} is removed: if this is its new name, write `alias`; otherwise remove one property first, \
                     update the snapshot, and add the other",
                    gone.name
                ),
            );
        }
    }

    /// Returns the properties of the reader that read one of the names of a property.
    fn readers<'r>(
        &self,
        property: &PropertySchema,
        reader: &'r [PropertySchema],
    ) -> Vec<&'r PropertySchema> {
        let names = self.names(property);
        let reads = |by: &&PropertySchema| {
            let is_name = names.iter().any(|name| match property.layout {
                Layout::Series { .. } => by.name == *name && by.layout != Layout::One,
                _ => reads_name(by, name),
            });
            is_name || claims(property, &by.name) || by.aliases.iter().any(|a| claims(property, a))
        };
        reader.iter().filter(reads).collect()
    }

    /// The names under which rows have the property.
    fn names<'p>(&self, property: &'p PropertySchema) -> Vec<&'p str> {
        let aliases = if self.which == Rows::All { &property.aliases[..] } else { &[] };
        std::iter::once(&property.name).chain(aliases).map(String::as_str).collect()
    }

    fn about(&mut self, property: &PropertySchema, why: impl Into<String>) {
        self.add(&format!("{:?}", property.name), why);
    }

    /// Reports a property of the rows that the reader does not know.
    fn unread(&mut self, property: &PropertySchema, is_removed: bool, reader: &Schema) {
        if reader.others == Others::Refused {
            self.about(property, "rows have it, and `deny_unknown` refuses it");
        }
        let Some(group) = property.groups.last() else { return };
        let mut rest = reader.properties.iter().filter(|by| by.groups.last() == Some(group));
        let is_empty = rest.clone().next().is_none();
        if !is_removed && !is_empty && !rest.any(|by| by.absent == Absent::Required) {
            self.about(property, "a row with no other property of its group would lose the group");
        }
    }

    /// Reports a property that the reader knows only by a former name, which the writer does not write.
    fn renamed(&mut self, property: &PropertySchema, reader: &Schema) {
        let is_read = |alias: &String| reader.properties.iter().any(|by| reads_name(by, alias));
        if self.which == Rows::Written && property.aliases.iter().any(is_read) {
            self.about(property, "the last version reads it under its former name only");
        }
    }

    fn property(&mut self, property: &PropertySchema, by: &PropertySchema, is_removed: bool) {
        let position = |name: &&str| {
            std::iter::once(&by.name).chain(&by.aliases).position(|known| known == name)
        };
        if property.layout == Layout::One && by.layout == Layout::One {
            let positions: Vec<_> = self.names(property).iter().map(position).collect();
            if let Some(at) = positions.iter().position(Option::is_none) {
                let name = self.names(property)[at].to_owned();
                self.about(property, format!("rows have it as {name:?}, which is not read"));
            } else if !positions.is_sorted() {
                let why = "the order of its names changed: a row that has two of them would be read \
                           by the older one";
                self.about(property, why);
            }
        }
        if let Err(why) = values::reads(property, by, self.which) {
            self.about(property, why);
        }
        if by.is_copy && !property.is_copy {
            self.about(property, "it is compared with the key now, and may differ");
        }
        self.absence(property, by, is_removed);
        if property.groups != by.groups {
            let was_always_there =
                property.groups.is_empty() && property.absent == Absent::Required;
            if !was_always_there || is_removed {
                self.about(property, "a row without it belongs to another `Option` of a group now");
            }
        }
    }

    /// Compares the values that are read from a row without the property.
    fn absence(&mut self, property: &PropertySchema, by: &PropertySchema, is_removed: bool) {
        let why = match (&property.absent, &by.absent) {
            (Absent::Required, Absent::Required) if is_removed => {
                "rows of the versions without it do not have it, and it is required"
            }
            (Absent::Required, _) | (Absent::Optional, Absent::Optional) => return,
            (_, Absent::Required) => "rows may lack it, and it is required now",
            (Absent::Optional, _) => "rows without it were read as `None`, and have a default now",
            (Absent::DefaultValue(before), Absent::DefaultValue(after)) => {
                // An Int32 0 is the Double 0.0.
                let number = |text: &Option<String>| text.as_ref()?.parse::<f64>().ok();
                let is_widened = property.edm_type != by.edm_type;
                if before == after
                    || is_widened && number(before).is_some() && number(before) == number(after)
                {
                    return;
                }
                "rows without it were read as another default"
            }
            _ => "rows without it were read as the default, and are read as `None` now",
        };
        self.about(property, why);
    }

    /// A group that becomes optional must be in every row, or it would turn from empty to `None`.
    fn whole_group(
        &mut self,
        property: &PropertySchema,
        by: &PropertySchema,
        rows: &Snapshot,
        reader: &Schema,
    ) {
        let Some(group) = by.groups.last().filter(|_| property.groups != by.groups) else { return };
        let mut members = reader.properties.iter().filter(|member| member.groups.contains(group));
        let known = &rows.schema.properties;
        let is_in_each_row = members.any(|member| {
            known.iter().any(|row| row.name == member.name && row.absent == Absent::Required)
        });
        if !is_in_each_row {
            self.about(property, "rows may lack its whole group, which is an `Option` now");
        }
    }

    fn kinds(&mut self, rows: &KindList, reader: &KindList) {
        if rows.property != reader.property {
            self.add("the discriminator", "rows have their kind elsewhere");
            return;
        }
        let position = |name: &str| reader.list.iter().position(|(known, _)| known == name);
        for (at, (name, kind)) in rows.list.iter().enumerate() {
            let Some(found) = position(name) else {
                self.add(&format!("the kind {name:?}"), "its rows are of an unknown kind now");
                continue;
            };
            if rows.property.is_none() && found != at {
                let why =
                    "kinds are recognized in their order, which changed: add kinds at the end";
                self.add(&format!("the kind {name:?}"), why);
            }
            let within = format!("{}kind {name:?}, ", self.within);
            let outer = std::mem::replace(&mut self.within, within);
            self.compare(kind, &reader.list[found].1);
            self.within = outer;
        }
        if rows.has_other && !reader.has_other {
            self.add("the kinds", "rows of other kinds were read, and are an error now");
        }
        let is_longer = reader.list.len() > rows.list.len();
        if rows.property.is_none() && rows.has_other && is_longer {
            self.add("the kinds", "a row of another kind may have the keys of the new kind");
        }
    }
}

fn has_texts_of(rows: &KeyElement, reader: &KeyElement) -> bool {
    match (rows, reader) {
        (KeyElement::Constant(rows), KeyElement::Constant(reader)) => rows == reader,
        (
            KeyElement::Field { format, form, rust_type, .. },
            KeyElement::Field {
                format: format_now, form: form_now, rust_type: rust_type_now, ..
            },
        ) => {
            format == format_now
                && values::are_key_texts((form, rust_type), (form_now, rust_type_now))
        }
        _ => false,
    }
}
