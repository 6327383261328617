//! Whole accounts: backups, their verification and import, counts, copies and comparisons.

use std::fs;

use azure_table_client::client::StoredAccessPolicy;
use azure_table_client::{Dialect, DynamicEntity, TableServiceClient};

use crate::dry_run::number;
use crate::files::{fill, row};
use crate::support::{Emulator, Folder, Run, run};

/// Fills an account with 30 tables: empty ones, small ones, a large one, and some with policies.
pub(crate) async fn fill_account(emulator: &Emulator) {
    fill(emulator, "Large", 3000).await;
    for (name, rows) in [("Con", 0), ("NUL", 1), ("com1", 2), ("Logs2026", 3), ("manifest", 4)] {
        fill(emulator, name, rows).await;
    }
    for n in 0..24 {
        let table = fill(emulator, &format!("Table{n:02}"), n % 3 * 7).await;
        if n % 5 == 0 {
            let mut policy = StoredAccessPolicy::new(format!("readers {n} <é>"));
            policy.permissions = Some(azure_table_client::auth::TablePermissions::READ);
            policy.expiry = Some("2031-01-01T00:00:00Z".parse().unwrap());
            table.set_access_policies(&[policy, StoredAccessPolicy::new("open")]).await.unwrap();
        }
    }
}

/// Returns the policies of all tables.
async fn policies(service: &TableServiceClient) -> Vec<Vec<StoredAccessPolicy>> {
    let mut all = Vec::new();
    for name in service.list_tables().await.unwrap() {
        all.push(service.table_named::<DynamicEntity>(name).access_policies().await.unwrap());
    }
    all
}

/// Compares all tables of two emulators.
#[track_caller]
pub(crate) fn assert_same(a: &Emulator, b: &Emulator, options: &[&str]) {
    let diff = ["diff", "--all-tables", "--from", "env:AZURE_STORAGE_CONNECTION_STRING"];
    let mut command = a.command(&[&diff[..], &["--to", "env:OTHER"], options].concat());
    let end = Run::of(&command.env("OTHER", b.connection_string()).output().unwrap());
    assert_eq!(end.done(), "");
}

#[tokio::test]
async fn an_account_survives_a_backup() {
    let (a, b, folder) = (Emulator::start(), Emulator::start(), Folder::new());
    fill_account(&a).await;
    let backup = folder.file("backup");
    let end = a.run(&["export", "--all-tables", &backup]);
    assert!(end.err.contains("30 tables exported, 3,178 rows"), "{end:?}");
    assert!(end.err.contains("export Table01: 7 rows"), "{end:?}");
    end.done();
    let files = fs::read_dir(&backup).unwrap().count();
    assert_eq!(files, 31, "30 tables and the manifest");
    for name in ["%43on.jsonl", "%4EUL.jsonl", "%63om1.jsonl", "manifest.jsonl"] {
        assert!(folder.path().join("backup").join(name).exists(), "{name}");
    }
    let verified = run(&["verify", &backup]);
    assert!(verified.err.contains("the backup is complete: 30 tables, 3,178 rows"), "{verified:?}");
    assert_eq!(verified.done(), "");

    let list = b.run(&["import", &backup, "--all-tables", "--dry-run"]).done();
    assert_eq!(list.lines().count(), 31);
    assert!(list.contains("create           3,000 rows  Large\n"), "{list}");
    assert!(list.contains("create                1 row  NUL\n"), "{list}");
    assert_eq!(b.client().list_tables().await.unwrap().len(), 0);
    let imported = b.run(&["import", &backup, "--all-tables"]);
    let estimate = list.lines().last().unwrap().replace("the run would use about ", "");
    let used = imported.err.lines().last().unwrap().to_owned();
    imported.done();
    // At most one transaction more for each 256 rows of the large table.
    let is_in_bounds = (number(&estimate)..number(&estimate) + 12).contains(&number(&used));
    assert!(is_in_bounds, "{estimate}\n{used}");
    assert!(used.contains(": 30 CreateTable, 1 ListTables, "), "{used}");
    assert!(used.ends_with(" Transaction, 30 SetTableAcl"), "{used}");
    assert_same(&a, &b, &[]);
    assert_eq!(policies(&a.client()).await, policies(&b.client()).await);
    assert_eq!(fs::read_dir(&backup).unwrap().count(), 31, "no file of the import is left");

    // Tables with rows are refused before anything is written.
    let requests = b.requests_by_operation();
    let error = b.run(&["import", &backup, "--all-tables"]).failed(7);
    assert!(
        error.contains("not empty: Large, Logs2026,") && error.contains("--replace"),
        "{error}"
    );
    for write in ["Transaction", "CreateTable", "SetTableAcl", "InsertOrReplace"] {
        assert_eq!(b.requests_by_operation()[write], requests[write], "{write}");
    }
    let extra = DynamicEntity::new("extra", "row");
    let table = b.client().table_named::<DynamicEntity>("Large");
    table.insert(&extra).await.unwrap();
    table
        .insert_or_replace(&DynamicEntity::new(
            row(1).key().partition_key.clone(),
            row(1).key().row_key.clone(),
        ))
        .await
        .unwrap();
    let dry_run = ["import", &backup, "--all-tables", "--dry-run", "--include", "L*"];
    let list = b.run(&dry_run).done();
    assert!(list.starts_with("refuse           3,000 rows  Large\n"), "{list}");
    assert!(!list.contains("the run would use"), "{list}");
    let list = b.run(&[&dry_run[..], &["--replace"]].concat()).done();
    let expected = "replace          3,000 rows  Large\nreplace              3 rows  Logs2026\nthe run would use about ";
    assert!(list.starts_with(expected), "{list}");
    let requests = b.requests_by_operation();
    b.run(&["import", &backup, "--all-tables", "--replace", "--include", "Large"]).done();
    // The list of tables shows that it exists.
    assert_eq!(b.requests_by_operation()["CreateTable"], requests["CreateTable"]);
    assert_eq!(table.query().count().await.unwrap(), 3001);
    table.delete(extra.key(), azure_table_client::IfMatch::Any).await.unwrap();
    assert_same(&a, &b, &[]);
}

#[tokio::test]
async fn an_account_survives_each_format() {
    let (a, folder) = (Emulator::start(), Folder::new());
    fill(&a, "Blogs", 30).await;
    fill(&a, "Empty", 0).await;
    for (format, options) in
        [("csv", &[][..]), ("parquet", &["--mixed", "rest", "--datetimes", "ticks"])]
    {
        let (b, backup) = (Emulator::start(), folder.file(format));
        let export = ["export", "--all-tables", &backup, "--format", format];
        a.run(&[&export[..], options].concat()).done();
        assert!(folder.path().join(format).join(format!("Blogs.{format}")).exists());
        run(&["verify", &backup]).done();
        b.run(&["import", &backup, "--all-tables"]).done();
        assert_same(&a, &b, &[]);
    }
}

#[tokio::test]
async fn a_partial_backup_is_called_partial() {
    let (a, b, folder) = (Emulator::start(), Emulator::start(), Folder::new());
    fill(&a, "Blogs", 30).await;
    fill(&a, "Logs", 3).await;
    let part = "the backup is partial: it was exported with ";
    for (name, options, expected) in [
        ("whole", &[][..], None),
        ("tables", &["--exclude", "L*"], Some("--exclude \"L*\"\n")),
        (
            "rows",
            &["--filter", "Number ge 7", "--select", "Yes,Text", "--include", "B*"],
            Some(
                "--filter \"Number ge 7\", --select \"Yes\", --select \"Text\", --include \"B*\"\n",
            ),
        ),
    ] {
        let backup = folder.file(name);
        a.run(&[&["export", "--all-tables", &backup], options].concat()).done();
        let verified = run(&["verify", &backup]);
        let import = ["import", &backup, "--all-tables", "--replace"];
        for run in [verified, b.run(&[&import[..], &["--dry-run"]].concat()), b.run(&import)] {
            let found = run.err.split(part).nth(1);
            let is_noted = match expected {
                Some(expected) => found.is_some_and(|found| found.starts_with(expected)),
                None => found.is_none(),
            };
            assert!(is_noted && run.code == Some(0), "{name}: {run:?}");
        }
        assert_eq!(run(&["verify", &backup, "-q"]).err, "");
    }
    // As in the manifests of earlier versions.
    assert!(!fs::read_to_string(folder.file("whole/manifest.json")).unwrap().contains("partial"));
}

#[tokio::test]
async fn names_of_cosmos_db_survive_a_backup() {
    let options = ["--dialect", "cosmos"];
    let (a, b, folder) =
        (Emulator::start_with(&options), Emulator::start_with(&options), Folder::new());
    let names = ["blogs", "Blogs", "BLOGS", "a b", "ü.x", "con", "x%2Ey", "2"];
    let builder = TableServiceClient::builder_from_connection_string(&a.connection_string());
    let service = builder.unwrap().dialect(Dialect::CosmosDb).build().unwrap();
    for (name, rows) in names.iter().zip(0..) {
        let table = service.table_named::<DynamicEntity>(*name);
        table.create().await.unwrap();
        for n in 0..rows {
            table.insert(&row(n)).await.unwrap();
        }
    }
    let backup = folder.file("backup");
    a.run(&[&["export", "--all-tables", &backup], &options[..]].concat()).done();
    let files: std::collections::HashSet<_> = fs::read_dir(&backup)
        .unwrap()
        .map(|file| file.unwrap().file_name().to_str().unwrap().to_lowercase())
        .collect();
    assert_eq!(files.len(), names.len() + 1, "{files:?}");
    run(&["verify", &backup]).done();
    b.run(&[&["import", &backup, "--all-tables"], &options[..]].concat()).done();
    assert_same(&a, &b, &["--from-dialect", "cosmos", "--to-dialect", "cosmos"]);
    // Azure Storage has one table with these names, and not the others.
    let storage = Emulator::start();
    let import = ["import", &backup, "--all-tables", "--include", "blogs"];
    let error = storage.run(&import).failed(2);
    assert!(error.contains("would be one table in the other account"), "{error}");
    storage.run(&["import", &backup, "--all-tables", "--include", "a b"]).failed(2);
    assert_eq!(storage.client().list_tables().await.unwrap().len(), 0);
}

#[tokio::test]
async fn wrong_arguments_are_refused() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    let backup = folder.file("backup");
    for arguments in [
        &["export"][..],
        &["export", "Blogs", "--all-tables", &backup],
        &["export", "--all-tables", &backup, "--include", ""],
        &["export", "--all-tables", &backup, "--include", "Blog"],
        &["export", "--all-tables", &backup, "--dry-run", "--resume"],
        &["export", "--all-tables", &backup, "--checkpoint", "x"],
        &["export", "--all-tables", &backup, "--filter", "x y"],
        &["export", "--all-tables", &backup, "--columns", "A@Edm.Int32"],
        &["export", "Blogs", "--include", "B*"],
        &["import", &backup],
        &["import", &backup, "Blogs", "--all-tables"],
        &["import", &backup, "--all-tables", "--mode", "insert"],
        &["import", &backup, "--all-tables"],
        &["verify", &backup],
    ] {
        let end = emulator.run(arguments);
        assert_eq!((end.code, &*end.out), (Some(2), ""), "{arguments:?}: {end:?}");
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 0, "{arguments:?}");
    }
    let missing = ["export", "--all-tables", "a/b", "--include", "Blog"];
    let run_in = |folder: &Folder| {
        emulator.command(&missing).current_dir(folder.path()).status().unwrap().code()
    };
    assert_eq!(run_in(&folder), Some(2));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // Folders that existed before stay.
    fs::create_dir(folder.file("a")).unwrap();
    assert_eq!(run_in(&folder), Some(2));
    assert_eq!(fs::read_dir(folder.file("a")).unwrap().count(), 0);
    fs::remove_dir(folder.file("a")).unwrap();
    for arguments in [&["export", &backup, "--all-tables"][..], &["export", "--all-tables", "-q"]] {
        let error = emulator.run(arguments).failed(2);
        assert!(error.contains("azure-table export --all-tables DIR"), "{error}");
    }
    let listed = ["export", "--all-tables", &backup, "--include", "b?ogs", "--dry-run"];
    let estimate = "the run would use about 3 requests\n";
    let expected = format!("export              3 rows  Blogs\n{estimate}");
    assert_eq!(emulator.run(&listed).done(), expected);
    emulator.run(&["export", "--all-tables", &backup]).done();
    let error = emulator.run(&["export", "--all-tables", &backup]).failed(2);
    assert!(error.contains("is not empty"), "{error}");
    emulator.run(&["export", "--all-tables", &backup, "--resume"]).failed(2);
    run(&["verify", &backup]).done();
}

#[tokio::test]
async fn verify_finds_each_damage() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 30).await;
    fill(&emulator, "Logs", 3).await;
    let backup = folder.file("backup");
    emulator.run(&["export", "--all-tables", &backup]).done();
    let target = Emulator::start();
    let path = |name: &str| folder.path().join("backup").join(name);
    let (blogs, manifest) = (path("Blogs.jsonl"), path("manifest.json"));
    // A run that was killed may leave it.
    fs::write(path("manifest.json.tmp"), "{").unwrap();
    run(&["verify", &backup]).done();
    let rows = fs::read(&blogs).unwrap();
    let check = |problem: &str| {
        let found = run(&["verify", &backup]);
        assert!(found.out.contains(problem) && found.out.lines().count() == 1, "{found:?}");
        assert!(found.failed(3).contains("is damaged: 1 problem"));
    };
    let import = |problem: &str| {
        let error = target.run(&["import", &backup, "--all-tables"]).failed(3);
        assert!(error.contains("is damaged: 1 problem; nothing was sent\n"), "{error}");
        assert!(error.contains(problem) && error.contains("nothing was sent"), "{error}");
    };
    let mut changed = rows.clone();
    *changed.last_mut().unwrap() = b' ';
    for (content, problem) in [
        (&changed[..], "Blogs.jsonl: its content was changed"),
        (&rows[..rows.len() - 9], "Blogs.jsonl: it has "),
    ] {
        fs::write(&blogs, content).unwrap();
        check(problem);
        import(problem);
    }
    fs::remove_file(&blogs).unwrap();
    check("Blogs.jsonl: it is missing");
    let summary = run(&["verify", &backup]).err;
    assert!(summary.contains("verify: 3 rows of 33,"), "{summary}");
    import("Blogs.jsonl: it is missing");
    fs::write(&blogs, &rows).unwrap();
    fs::write(path("more.jsonl"), "").unwrap();
    check("more.jsonl: it is not in the manifest");
    fs::remove_file(path("more.jsonl")).unwrap();

    let text = fs::read_to_string(&manifest).unwrap();
    for (from, to, code, problem) in [
        ("\"version\": 1", "\"version\": 2", 2, "has version 2; this program reads 1"),
        ("Blogs.jsonl", "../logs.jsonl", 3, "it was changed: its checksum is wrong"),
        ("{", "", 3, "it is not JSON"),
    ] {
        fs::write(&manifest, text.replacen(from, to, 1)).unwrap();
        let error = run(&["verify", &backup]).failed(code);
        assert!(error.contains(problem) && error.lines().count() == 1, "{error}");
        target.run(&["import", &backup, "--all-tables"]).failed(code);
    }
    fs::write(&manifest, &text).unwrap();
    assert_eq!(target.requests(), 0, "nothing was sent");
    run(&["verify", &backup]).done();
}

#[tokio::test]
async fn an_import_shows_the_first_problems_of_a_damaged_backup() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    for n in 0..7 {
        fill(&emulator, &format!("Table{n}"), 1).await;
    }
    let backup = folder.file("backup");
    emulator.run(&["export", "--all-tables", &backup]).done();
    for n in 0..7 {
        fs::remove_file(folder.path().join("backup").join(format!("Table{n}.jsonl"))).unwrap();
    }
    let error = emulator.run(&["import", &backup, "--all-tables", "--replace", "-q"]).failed(3);
    assert!(error.contains("is damaged: 7 problems; nothing was sent"), "{error}");
    assert!(error.contains("\nTable4.jsonl: it is missing\n"), "{error}");
    assert!(!error.contains("Table5.jsonl"), "{error}");
    assert!(
        error.ends_with(&format!("azure-table verify {backup} lists all of them\n")),
        "{error}"
    );
    assert_eq!(run(&["verify", &backup]).out.lines().count(), 7);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_does_not_lead_out_of_the_folder() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    let backup = folder.file("backup");
    emulator.run(&["export", "--all-tables", &backup]).done();
    let file = folder.path().join("backup").join("Blogs.jsonl");
    fs::rename(&file, folder.path().join("outside.jsonl")).unwrap();
    std::os::unix::fs::symlink("../outside.jsonl", &file).unwrap();
    for command in [&["verify", &backup][..], &["import", &backup, "--all-tables", "--replace"]] {
        let error = emulator.run(command).failed(2);
        assert!(error.contains("Blogs.jsonl is not a regular file"), "{error}");
    }
    // A file that the import itself writes.
    fs::remove_file(&file).unwrap();
    fs::rename(folder.path().join("outside.jsonl"), &file).unwrap();
    fs::write(folder.path().join("precious"), "precious").unwrap();
    let temporary = folder.path().join("backup").join("import.checkpoint.tmp");
    std::os::unix::fs::symlink("../precious", temporary).unwrap();
    emulator.run(&["import", &backup, "--all-tables", "--replace"]).done();
    assert_eq!(fs::read_to_string(folder.path().join("precious")).unwrap(), "precious");
}
