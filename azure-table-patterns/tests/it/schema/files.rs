//! The snapshot file.

use std::fs;
use std::path::PathBuf;

use azure_table_client::TableEntity;
use azure_table_patterns::schema::{SchemaError, SchemaGuard, Snapshot, Update};

macro_rules! blog {
    ($name:ident { $($(#[$of_field:meta])* $field:ident: $ty:ty),* }) => {
        #[derive(TableEntity)]
        #[table(name = "Blogs")]
        struct $name {
            #[table(partition_key)]
            channel: String,
            #[table(row_key)]
            id: u32,
            $($(#[$of_field])* $field: $ty,)*
        }
    };
}

blog!(First { text: String });
blog!(Optional { text: String, subtitle: Option<String> });
blog!(Required { text: String, subtitle: String });

/// A directory that is removed at the end of the test.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        let directory = std::env::temp_dir().join(format!("schemas-{:016x}", fastrand::u64(..)));
        fs::create_dir(&directory).unwrap();
        Self(directory)
    }

    fn guard(&self, update: Update) -> SchemaGuard {
        SchemaGuard::new(self.path()).update(update)
    }

    fn path(&self) -> PathBuf {
        self.0.join("schemas/blog.txt")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn files(&self) -> usize {
        fs::read_dir(self.0.join("schemas")).unwrap().count()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn the_first_check_writes_the_file_except_in_ci() {
    let directory = Directory::new();
    let error = directory.guard(Update::Never).check::<First>().unwrap_err();
    assert!(matches!(error, SchemaError::Missing { .. }), "{error}");
    directory.guard(Update::First).check::<First>().unwrap();
    assert_eq!(directory.text(), Snapshot::of::<First>().to_string());
    directory.guard(Update::Never).check::<First>().unwrap();
    assert_eq!(directory.files(), 1);
}

#[test]
fn a_compatible_change_is_accepted_by_an_update() {
    let directory = Directory::new();
    directory.guard(Update::First).check::<First>().unwrap();
    let before = directory.text();
    let error = directory.guard(Update::First).check::<Optional>().unwrap_err();
    assert!(error.to_string().contains("update the snapshot with UPDATE_SCHEMAS=1"), "{error}");
    assert_eq!((format!("{error:?}"), directory.text()), (error.to_string(), before));
    directory.guard(Update::Compatible).check::<Optional>().unwrap();
    assert_eq!(directory.text(), Snapshot::of::<Optional>().to_string());
    directory.guard(Update::Never).check::<Optional>().unwrap();
}

#[test]
fn an_incompatible_change_fails_until_it_is_forced() {
    let directory = Directory::new();
    directory.guard(Update::First).check::<First>().unwrap();
    let before = directory.text();
    for update in [Update::Never, Update::First, Update::Compatible] {
        let error = directory.guard(update).check::<Required>().unwrap_err();
        assert!(
            matches!(&error, SchemaError::Incompatible { problems, .. } if problems.len() == 1)
        );
        let text = error.to_string();
        assert!(
            text.contains("\n  - \"subtitle\": rows do not have it, and it is required\n"),
            "{text}"
        );
        assert_eq!(directory.text(), before);
    }
    directory.guard(Update::All).check::<Required>().unwrap();
    directory.guard(Update::Never).check::<Required>().unwrap();
}

#[test]
fn a_rolling_deployment_needs_more() {
    let directory = Directory::new();
    directory.guard(Update::First).check::<Required>().unwrap();
    let error = directory.guard(Update::Compatible).rolling().check::<Optional>().unwrap_err();
    let reason = "\"subtitle\": rows may lack it, and it is required now";
    assert!(
        matches!(&error, SchemaError::Rolling { .. }) && error.to_string().contains(reason),
        "{error}"
    );
    let error = directory.guard(Update::First).check::<Optional>().unwrap_err();
    assert!(error.to_string().contains(reason), "a warning: {error}");
    directory.guard(Update::Compatible).check::<Optional>().unwrap();
}

#[test]
fn a_file_that_is_not_a_snapshot_is_an_error() {
    let directory = Directory::new();
    fs::create_dir(directory.path().parent().unwrap()).unwrap();
    fs::write(directory.path(), "property \"a\" required\n").unwrap();
    let error = directory.guard(Update::All).check::<First>().unwrap_err();
    assert!(error.to_string().contains("the file is incomplete: restore the file"), "{error}");
    fs::remove_file(directory.path()).unwrap();
    fs::create_dir(directory.path()).unwrap();
    let error = directory.guard(Update::All).check::<First>().unwrap_err();
    assert!(matches!(error, SchemaError::File { .. }), "{error}");
}

/// The file is written in four steps. A program that stops after any of them leaves a file that the next one accepts.
#[test]
fn a_program_stops_at_each_step_of_an_update() {
    let (before, after) =
        (Snapshot::of::<First>().to_string(), Snapshot::of::<Optional>().to_string());
    let mut points = 0;
    // The temporary file holds the text up to here; the last point is after the rename.
    for written in (0..=after.len()).step_by(8).chain([after.len(), after.len() + 1]) {
        let directory = Directory::new();
        directory.guard(Update::First).check::<First>().unwrap();
        if written > after.len() {
            fs::write(directory.path(), &after).unwrap();
        } else {
            fs::write(directory.path().with_extension("1.tmp"), &after[..written]).unwrap();
            assert_eq!(directory.text(), before);
            directory.guard(Update::Never).check::<First>().unwrap();
        }
        directory.guard(Update::Compatible).check::<Optional>().unwrap();
        assert_eq!(directory.text(), after);
        points += 1;
    }
    println!("schema: {points} crash points of an update");
}

/// Test programs run in parallel.
#[test]
fn updates_at_the_same_time_leave_a_whole_file() {
    let directory = Directory::new();
    directory.guard(Update::First).check::<First>().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| directory.guard(Update::Compatible).check::<Optional>().unwrap());
        }
    });
    assert_eq!(directory.text(), Snapshot::of::<Optional>().to_string());
    assert_eq!(directory.files(), 1);
}
