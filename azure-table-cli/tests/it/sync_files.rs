//! The files of `copy --for-sync` and `sync`.

use std::fs;

use azure_table_client::DynamicEntity;

use crate::files::fill;
use crate::pair::{Pair, row};
use crate::support::Run;

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
    let position = fs::read_to_string(pair.path("Blogs-Copy.sync")).unwrap();
    let dry = pair.sync(&["--delete", "--dry-run"]).done();
    assert!(dry.contains("0 of 2 rows to delete"), "{dry}");
    assert_eq!(fs::read_to_string(pair.path("Blogs-Copy.sync")).unwrap(), position);
    assert_eq!(fs::read_dir(pair.folder.path()).unwrap().count(), 1);
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
