//! The log of requests: a line for each, on standard error and in a file.

mod writer;

use std::fs::OpenOptions;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use azure_table_client::ErrorCode;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::RecordedRequest;
use serde_json::json;

use self::writer::Writer;
use crate::options::{LogFormat, Options};

/// The destinations of the log.
#[derive(Debug)]
pub(crate) struct Log {
    format: LogFormat,
    /// Each has its own thread, so that a slow one does not delay the others.
    writers: Vec<Writer>,
}

impl Log {
    /// Opens the log. Returns `None` if the options want none.
    pub(crate) fn open(options: &Options) -> Result<Option<Self>, String> {
        let format = options.log.unwrap_or(LogFormat::Text);
        let dropped = move |lines| dropped(format, lines);
        let failed = |error| format!("the log cannot be started: {error}");
        let mut writers = Vec::new();
        if options.log.is_some() {
            writers.push(Writer::start(io::stderr(), dropped).map_err(failed)?);
        }
        if let Some(path) = &options.log_file {
            let file = OpenOptions::new().append(true).create(true).open(path);
            let file = file
                .map_err(|error| format!("the log {} cannot be opened: {error}", path.display()))?;
            writers.push(Writer::start(file, dropped).map_err(failed)?);
        }
        Ok((!writers.is_empty()).then_some(Self { format, writers }))
    }

    /// Writes the line of a request. It does not wait for the destinations.
    pub(crate) fn write(&self, request: &RecordedRequest) {
        let line: Arc<str> = line(self.format, request).into();
        for writer in &self.writers {
            writer.write(Arc::clone(&line));
        }
    }
}

/// The line that replaces lines that were dropped.
fn dropped(format: LogFormat, lines: u64) -> String {
    match format {
        LogFormat::Text => format!(
            "azure-table-emulator: {lines} lines of the log were dropped, since it is read too slowly\n"
        ),
        LogFormat::Json => format!("{}\n", json!({ "dropped_lines": lines })),
    }
}

/// `2026-11-22T10:11:12.1234567Z GET /devstoreaccount1/Blogs()?$top=5 200 table scan 123us`, or the same as
/// JSON.
fn line(format: LogFormat, request: &RecordedRequest) -> String {
    let RecordedRequest { method, url, status, took, .. } = request;
    let plan = request.plan.map(|plan| plan.to_string());
    let (time, took) = (timestamp(request.arrived), took.as_micros());
    match format {
        LogFormat::Text => {
            let plan = plan.as_deref().unwrap_or("-");
            let failure = failure(request);
            format!("{time} {method} {url} {status}{failure} {plan} {took}us\n")
        }
        LogFormat::Json => {
            let line = json!({
                "time": time,
                "method": method.as_str(),
                "url": url,
                "status": status,
                "error_status": request.error_status,
                "error_code": request.error_code.as_ref().map(ErrorCode::as_str),
                "failed_operation": request.failed_operation,
                "plan": plan,
                "scanned_rows": request.scanned_rows,
                "microseconds": u64::try_from(took).unwrap_or(u64::MAX),
            });
            format!("{line}\n")
        }
    }
}

/// ` EntityAlreadyExists`, or in a batch ` (operation 1: 409 EntityAlreadyExists)`.
fn failure(request: &RecordedRequest) -> String {
    let Some(code) = request.error_code.as_ref().map(ErrorCode::as_str) else {
        return String::new();
    };
    match (request.failed_operation, request.error_status) {
        (Some(index), Some(status)) => format!(" (operation {index}: {status} {code})"),
        _ => format!(" {code}"),
    }
}

fn timestamp(time: SystemTime) -> String {
    EdmDateTime::from_system_time(time).map(|time| time.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use azure_table_client::mock::MockTableService;
    use azure_table_client::transport::HttpRequest;
    use azure_table_client::{DynamicEntity, Operation};
    use http::{Method, Uri};

    use super::*;

    #[test]
    fn a_line_has_the_time_the_request_and_its_cost() {
        let service = MockTableService::builder().loose(true).build();
        let uri = Uri::from_static("http://127.0.0.1/devstoreaccount1/Tables?$top=5");
        service.respond(&HttpRequest::new(Method::GET, uri));
        let request = service.requests().last().unwrap();
        let text = line(LogFormat::Text, &request);
        let (time, rest) = text.split_once(' ').unwrap();
        assert!(time.parse::<EdmDateTime>().is_ok(), "{text}");
        assert!(rest.starts_with("GET /devstoreaccount1/Tables?$top=5 200 - "), "{text}");
        assert!(rest.ends_with("us\n"), "{text}");

        let json = line(LogFormat::Json, &request);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["time"], time);
        assert_eq!((&value["method"], &value["status"]), (&"GET".into(), &200.into()));
        assert!(value["plan"].is_null() && value["microseconds"].is_u64(), "{json}");
        assert_eq!(json.lines().count(), 1);
    }

    #[tokio::test]
    async fn a_line_shows_why_a_request_was_refused() {
        let service = MockTableService::new();
        let blogs = service.client().table_named::<DynamicEntity>("Blogs");
        let text = || line(LogFormat::Text, &service.requests().last().unwrap());
        let row = DynamicEntity::new("p", "1");
        blogs.insert(&row).await.unwrap_err();
        assert!(text().contains(" 404 TableNotFound - "), "{}", text());
        blogs.create().await.unwrap();
        blogs.insert(&row).await.unwrap();
        let both = blogs.transaction().insert(&DynamicEntity::new("p", "2")).insert(&row);
        both.await.unwrap_err();
        let failed = service.requests().of(Operation::Transaction).pop().unwrap();
        let refused = line(LogFormat::Text, &failed);
        assert!(refused.contains(" 202 (operation 1: 409 EntityAlreadyExists) - "), "{refused}");
        let json: serde_json::Value =
            serde_json::from_str(&line(LogFormat::Json, &failed)).unwrap();
        assert_eq!((&json["status"], &json["error_status"]), (&202.into(), &409.into()));
        assert_eq!(json["failed_operation"], 1);
        assert_eq!(json["error_code"], "EntityAlreadyExists");
        let uri = Uri::from_static("http://127.0.0.1/devstoreaccount1/$batch");
        service.respond(&HttpRequest::new(Method::POST, uri));
        assert!(text().contains(" 404 ResourceNotFound - "), "{}", text());
    }
}
