//! Standard output and standard error that nobody reads.

use std::fs;

use azure_table_client::DynamicEntity;

use crate::support::{Emulator, Folder};

async fn filled(emulator: &Emulator, name: &str, rows: i32) {
    let table = emulator.table(name).await;
    for n in 0..rows {
        table.insert(&DynamicEntity::new("p", format!("{n:03}"))).await.unwrap();
    }
}

#[tokio::test]
async fn a_difference_that_nobody_reads_is_a_difference() {
    let emulator = Emulator::start();
    filled(&emulator, "Blogs", 3).await;
    filled(&emulator, "Equal", 3).await;
    filled(&emulator, "Empty", 0).await;
    let folder = Folder::new();
    let snapshot = folder.file("blog.txt");
    fs::write(&snapshot, "partition-key literal \"q\"\nend\n").unwrap();
    for arguments in
        [&["diff", "Blogs", "Empty"], &["schema", "Blogs", &*format!("--check={snapshot}")]]
    {
        for output in ["text", "jsonl"] {
            let mut command =
                emulator.command(&[&arguments[..], &["-q", "--output", output]].concat());
            let mut child = command.spawn().unwrap();
            drop(child.stdout.take());
            let end = child.wait_with_output().unwrap();
            assert_eq!((end.status.code(), end.stderr), (Some(3), Vec::new()));
        }
    }
    let mut child = emulator.command(&["diff", "Blogs", "Equal", "-q"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[tokio::test]
async fn notes_that_nobody_reads_do_not_fail_a_command() {
    let emulator = Emulator::start();
    filled(&emulator, "Blogs", 3).await;
    let folder = Folder::new();
    let (exported, again) = (folder.file("blogs.jsonl"), folder.file("again.jsonl"));
    let (checkpoint, refused) = (folder.file("checkpoint"), folder.file("refused"));
    emulator.run(&["export", "Blogs", &exported]).done();
    for arguments in [
        &["count", "Blogs", "--by-partition"][..],
        &["export", "Blogs", &again],
        &["import", &exported, "Blogs"],
        &["diff", "Blogs", &exported],
        &["copy", "Blogs", "Copy", "--create", "--checkpoint", &checkpoint, "--failed", &refused],
    ] {
        let mut child = emulator.command(arguments).spawn().unwrap();
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
    assert_eq!(fs::read(&again).unwrap(), fs::read(&exported).unwrap());
}
