//! A `sync` that is killed at any time under writes and faults loses no change and no deletion.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::{DynamicEntity, IfMatch, TableClient};

use crate::chaos::{Random, row};
use crate::pair::Pair;
use crate::support::{Run, interrupt};

/// Changes, inserts and deletes rows until it is stopped. Returns the number of writes.
async fn write(table: TableClient<DynamicEntity>, is_stopped: Arc<AtomicBool>) -> u32 {
    let mut random = Random(2026);
    let mut writes = 0;
    while !is_stopped.load(Ordering::Relaxed) {
        let n = u32::try_from(random.below(2_000)).unwrap();
        let entity = row(n, 10);
        if random.below(4) == 0 {
            table.delete_if_exists(entity.key().clone(), IfMatch::Any).await.unwrap();
        } else {
            table.insert_or_replace(&entity.with("Write", writes)).await.unwrap();
        }
        writes += 1;
    }
    writes
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_under_writes_lose_nothing() {
    for pair in [Pair::new(), Pair::into_cosmos()] {
        let rows: Vec<_> = (0..1_500).map(|n| row(n, 10)).collect();
        let blogs = pair.source.table("Blogs").await;
        blogs.bulk().run(rows.into_iter().map(BulkOperation::Insert)).await.unwrap();
        pair.copy(&["--create", "--for-sync"]).done();
        pair.target.add_faults(
            r#"{"seed":7,"faults":[
                {"fault":"lose_request","probability":0.03},
                {"fault":"lose_reply","probability":0.05},
                {"fault":"busy","probability":0.03},
                {"fault":"internal_error","after_commit":true,"probability":0.01},
                {"fault":"delay_reply","milliseconds":5}]}"#,
        );
        let is_stopped = Arc::new(AtomicBool::new(false));
        let writer = tokio::spawn(write(blogs, Arc::clone(&is_stopped)));
        let sync = ["sync", "Blogs", "Copy", "--delete", "--max-deletes", "2000", "--yes"];
        let sync = [&sync[..], &["--until-equal", "--every", "10ms"]].concat();
        let mut random = Random(7);
        for n in 0..8 {
            let mut child = pair.command(&sync).spawn().unwrap();
            tokio::time::sleep(Duration::from_millis(random.below(1_500))).await;
            if n % 4 == 3 {
                interrupt(&child);
            } else {
                child.kill().unwrap();
            }
            let end = Run::of(&child.wait_with_output().unwrap());
            // A signal may come before the program handles it.
            assert!(matches!(end.code, None | Some(130)), "{end:?}");
        }
        is_stopped.store(true, Ordering::Relaxed);
        let writes = writer.await.unwrap();
        assert!(writes > 100, "{writes} writes");
        pair.target.end_faults();
        let end = Run::of(&pair.command(&sync).output().unwrap());
        assert!(end.err.contains("no differences: "), "{end:?}");
        end.done();
        pair.diff().done();
    }
}
