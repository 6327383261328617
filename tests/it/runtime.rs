//! A client without the runtime of tokio: its clock is the only seam.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime};

use azure_table_client::bulk::BulkOperation;
use azure_table_client::clock::{Clock, Sleep};
use azure_table_client::context::TableContext;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, ErrorKind, RetryPolicy, TableServiceClient};

/// A clock whose timers are threads.
#[derive(Debug)]
struct ThreadClock;

impl Clock for ThreadClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        thread::spawn(move || {
            #[expect(clippy::disallowed_methods, reason = "this clock runs without tokio")]
            thread::sleep(duration);
            let _ = sender.send(());
        });
        Box::pin(async move { drop(receiver.await) })
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn calls_retries_timeouts_contexts_and_bulk_runs_need_no_tokio_runtime() {
    const WAIT: Duration = Duration::from_millis(20);
    let mock = MockTableService::new();
    let builder = TableServiceClient::builder_from_connection_string(&mock.connection_string());
    let service = builder
        .unwrap()
        .transport(mock.transport())
        .clock(Arc::new(ThreadClock))
        .retry(RetryPolicy::fixed(2, WAIT))
        .try_timeout(WAIT)
        .max_in_flight(1)
        .build()
        .unwrap();
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    block_on(async {
        mock.faults().add(Fault::busy().times(1));
        let start = Instant::now();
        blogs.create().await.unwrap();
        assert!(start.elapsed() >= WAIT, "the retry waited {:?}", start.elapsed());

        mock.faults().add(Fault::hang().on_reads());
        let error = blogs.get(("Channel9", "1")).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 3));
        mock.faults().clear();

        let mut context = TableContext::new(&service);
        let blog = DynamicEntity::new("Channel9", "1");
        context.table_named::<DynamicEntity>("Blogs").add(&blog).unwrap();
        context.save_changes().await.unwrap();

        mock.faults().add(Fault::busy().times(1));
        let rows = (2..300).map(|row| DynamicEntity::new("Channel9", row.to_string()));
        let report = blogs.bulk().run(rows.map(BulkOperation::Insert)).await.unwrap();
        assert_eq!(report.progress.applied, 298);
        assert_eq!(blogs.query().allow_scan().await.unwrap().len(), 299);
    });
}
