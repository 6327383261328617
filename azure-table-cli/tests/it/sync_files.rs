//! The files of `copy --for-sync` and `sync`.

use std::fs;

use azure_table_client::DynamicEntity;

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
