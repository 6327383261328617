//! A thread that writes lines to a destination that may be slow.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The lines that wait for the destination. Requests do not wait, so more lines are dropped.
const WAITING_LINES: usize = 4_096;
/// The size from which lines are written together.
const BATCH_BYTES: usize = 32 * 1024;
/// The time that the destination has for the remaining lines at the end.
const FLUSH_TIME: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Writer {
    /// `None` at the end.
    lines: Option<SyncSender<Arc<str>>>,
    dropped: Arc<AtomicU64>,
    /// Is disconnected once the thread has ended.
    ended: Mutex<Receiver<()>>,
}

impl Writer {
    /// Starts the thread. `notice` is the line after this number of dropped lines.
    pub(super) fn start(
        destination: impl Write + Send + 'static,
        notice: impl Fn(u64) -> String + Send + 'static,
    ) -> io::Result<Self> {
        let (lines, received) = sync_channel(WAITING_LINES);
        let (running, ended) = sync_channel(0);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        thread::Builder::new().name("log".into()).spawn(move || {
            let _running = running;
            write_all(&received, destination, &counted, notice);
        })?;
        Ok(Self { lines: Some(lines), dropped, ended: Mutex::new(ended) })
    }

    /// Hands a line to the thread, or counts it as dropped.
    pub(super) fn write(&self, line: Arc<str>) {
        if self.lines.as_ref().is_none_or(|lines| lines.try_send(line).is_err()) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Waits for the remaining lines, unless no program reads them.
impl Drop for Writer {
    fn drop(&mut self) {
        self.lines = None;
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _: Result<(), RecvTimeoutError> = ended.recv_timeout(FLUSH_TIME);
    }
}

/// Writes lines until the sender is dropped. Errors are ignored.
fn write_all(
    lines: &Receiver<Arc<str>>,
    mut destination: impl Write,
    dropped: &AtomicU64,
    notice: impl Fn(u64) -> String,
) {
    let report = |destination: &mut dyn Write| {
        let count = dropped.swap(0, Ordering::Relaxed);
        if count > 0 {
            let _ = destination.write_all(notice(count).as_bytes());
        }
    };
    let mut batch = String::new();
    while let Ok(line) = lines.recv() {
        batch.push_str(&line);
        while batch.len() < BATCH_BYTES
            && let Ok(line) = lines.try_recv()
        {
            batch.push_str(&line);
        }
        let _ = destination.write_all(batch.as_bytes());
        batch.clear();
        report(&mut destination);
    }
    // The last line may be counted after the last write.
    report(&mut destination);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Instant;

    use super::*;

    /// Each write reports that it begins, then waits for a permit.
    struct Slow {
        begun: Sender<()>,
        permits: Receiver<()>,
        written: Sender<String>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.begun.send(());
            let _ = self.permits.recv();
            let _ = self.written.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The writer and the other ends of its destination.
    struct Ends {
        begun: Receiver<()>,
        permit: Sender<()>,
        output: Receiver<String>,
    }

    fn slow() -> (Writer, Ends) {
        let ((begins, begun), (permit, permits)) = (channel(), channel());
        let (written, output) = channel();
        let notice = |lines| format!("{lines} dropped\n");
        let destination = Slow { begun: begins, permits, written };
        (Writer::start(destination, notice).unwrap(), Ends { begun, permit, output })
    }

    #[test]
    fn lines_above_the_limit_are_dropped_and_counted() {
        let (writer, Ends { begun, permit, output }) = slow();
        // The thread waits for the first write, and takes no other line.
        writer.write("first\n".into());
        begun.recv().unwrap();
        for _ in 0..WAITING_LINES + 100 {
            writer.write("x\n".into());
        }
        // Without a permit each write succeeds.
        drop(permit);
        drop(writer);
        let text: String = output.iter().collect();
        let written = |line: &str| text.lines().filter(|written| *written == line).count();
        assert_eq!((written("first"), written("x")), (1, WAITING_LINES), "{text}");
        assert_eq!(written("100 dropped"), 1, "{text}");
    }

    #[test]
    fn the_end_does_not_wait_for_a_blocked_destination() {
        let (writer, _ends) = slow();
        writer.write("x\n".into());
        let begun = Instant::now();
        drop(writer);
        let waited = begun.elapsed();
        assert!(waited >= FLUSH_TIME && waited < 10 * FLUSH_TIME, "{waited:?}");
    }
}
