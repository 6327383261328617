//! The files of `copy --for-sync` and `sync`.

use std::fs;

use azure_table_client::DynamicEntity;
use serde_json::Value;

use crate::files::fill;
use crate::full_disk::limited;
use crate::pair::{Pair, row};
use crate::support::Run;

#[tokio::test]
async fn a_full_disk_leaves_whole_keys_of_all_rows_that_were_sent() {
    let pair = Pair::new();
    fill(&pair.source, "Blogs", 3000).await;
    let copy = ["copy", "Blogs", "Copy", "--create", "--for-sync"];
    let end = Run::of(&limited(&pair.command(&copy), 64).output().unwrap());
    let error = end.failed(1);
    assert!(error.contains("cannot append to Blogs-Copy.keys"), "{error}");
    let keys = fs::read_to_string(pair.path("Blogs-Copy.keys")).unwrap();
    assert!(keys.len() > 60_000 && keys.ends_with("}\n"), "{} bytes", keys.len());
    let copied = pair.target.client().table_named::<DynamicEntity>("Copy");
    let copied = copied.query().await.unwrap();
    assert!(copied.iter().all(|row| keys.contains(&*row.key().row_key)), "{}", copied.len());
    pair.copy(&["--for-sync", "--resume"]).done();
    pair.sync(&["--until-equal", "--delete", "--every", "10ms", "--yes"]).done();
}

#[tokio::test]
async fn after_a_second_copy_that_did_not_end_all_rows_are_copied() {
    let pair = Pair::new();
    let [_, copy] = pair.copied(&[row("a", "1"), row("a", "2")]).await;
    copy.delete_table().await.unwrap();
    let position = || fs::read_to_string(pair.path("Blogs-Copy.sync")).unwrap();
    let begin = position().replace("\"copy_began\": null", "").replace("since", "copy_began");
    pair.target.add_faults(
        r#"{"fault":"error","status":403,"code":"AccountIsDisabled","on":"Transaction"}"#,
    );
    pair.copy(&["--create", "--for-sync"]).failed(8);
    pair.target.end_faults();
    assert!(position().contains("\"since\": null"), "{}", position());
    // The time of the first copy stays.
    let time = |text: &str| text.split('"').find(|part| part.ends_with('Z')).unwrap().to_owned();
    assert_eq!(time(&position()), time(&begin));
    let end = pair.sync(&["--until-equal", "--every", "10ms", "--overlap", "1ms"]);
    assert!(end.err.contains("the first pass copies all rows"), "{end:?}");
    assert!(end.err.contains("pass 1: 2 rows copied"), "{end:?}");
    end.done();
}

#[tokio::test]
async fn a_dry_run_changes_no_file() {
    let pair = Pair::new();
    pair.copied(&[row("a", "1"), row("a", "2")]).await;
    let keys = pair.path("Blogs-Copy.keys");
    let cut = fs::read_to_string(&keys).unwrap() + "{\"PartitionKey";
    fs::write(&keys, &cut).unwrap();
    let dry = pair.sync(&["--delete", "--dry-run"]).done();
    assert!(dry.contains("0 of 2 recorded rows to delete"), "{dry}");
    assert_eq!(fs::read_to_string(&keys).unwrap(), cut);
}

#[tokio::test]
async fn a_checkpoint_of_a_version_without_for_sync_is_resumed() {
    let pair = Pair::new();
    fill(&pair.source, "Blogs", 300).await;
    let fault = r#"{"fault":"error","status":403,"code":"AuthenticationFailed","on":"Transaction","skip":1}"#;
    let checkpoint = pair.path("Blogs-Copy.checkpoint");
    for (options, code) in [(&[][..], 0), (&["--for-sync"], 2)] {
        pair.target.add_faults(fault);
        pair.copy(&["--create", "--concurrency", "1"]).failed(8);
        pair.target.end_faults();
        let mut saved: Value = serde_json::from_slice(&fs::read(&checkpoint).unwrap()).unwrap();
        saved["arguments"].as_object_mut().unwrap().remove("for sync").unwrap();
        fs::write(&checkpoint, saved.to_string()).unwrap();
        let end = pair.copy(&[&["--resume"], options].concat());
        assert_eq!(end.code, Some(code), "{end:?}");
    }
}

#[tokio::test]
async fn a_copy_whose_table_is_gone_is_not_resumed() {
    let pair = Pair::new();
    fill(&pair.source, "Blogs", 300).await;
    let fault = r#"{"fault":"error","status":403,"code":"AuthenticationFailed","on":"Transaction","skip":1}"#;
    pair.target.add_faults(fault);
    pair.copy(&["--create", "--concurrency", "1"]).failed(8);
    pair.target.end_faults();
    let copy = pair.target.client().table_named::<DynamicEntity>("Copy");
    copy.delete_table().await.unwrap();
    let error = pair.copy(&["--create", "--resume"]).failed(6);
    let expected = "Copy does not exist any more, and the earlier run has handled ";
    assert!(error.contains(expected) && !error.contains("continue with"), "{error}");
    assert!(
        error.contains(" rows: delete Blogs-Copy.checkpoint to copy all rows again"),
        "{error}"
    );
    assert!(!copy.table_exists().await.unwrap());
    fs::remove_file(pair.path("Blogs-Copy.checkpoint")).unwrap();
    pair.copy(&["--create"]).done();
    pair.diff().done();
}

#[tokio::test]
async fn a_secondary_endpoint_is_not_followed() {
    let pair = Pair::new();
    pair.copied(&[row("a", "1")]).await;
    for command in [&["sync", "Blogs", "Copy"][..], &["copy", "Blogs", "Copy", "--for-sync"]] {
        let mut command = pair.command(command);
        let secondary = pair.source.connection_string() + "-secondary";
        command.env("AZURE_STORAGE_CONNECTION_STRING", secondary);
        let error = Run::of(&command.output().unwrap()).failed(2);
        assert!(error.contains("the source is a secondary endpoint"), "{error}");
    }
}
