//! Panics become results: a message of one may have a secret, so none is printed before the redaction.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

use futures_util::FutureExt as _;

thread_local! {
    /// The place of the last panic.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Returns the message and the place of a panic as an error.
pub(super) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, String> {
    // The hook ran on this thread just before.
    let result = AssertUnwindSafe(future).catch_unwind().await;
    result.map_err(|panic| format!("{}{}", message(&*panic), PLACE.take()))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it panicked").to_owned()
}

/// Panics are not printed as long as this exists.
pub(super) struct QuietPanics;

impl QuietPanics {
    pub(super) fn install() -> Self {
        panic::set_hook(Box::new(|info| {
            if let Some(at) = info.location() {
                PLACE.set(format!(" (line {} of {})", at.line(), file_name(at.file())));
            }
        }));
        Self
    }
}

impl Drop for QuietPanics {
    fn drop(&mut self) {
        drop(panic::take_hook());
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error() {
        assert_eq!(caught(async { 7 }).await, Ok(7));
        let error = caught(async { assert_eq!(1, 2, "a reason") }).await.unwrap_err();
        assert!(error.contains("a reason"), "{error}");
    }
}
