//! A time series in one entity: a day of an electricity meter is one row with 24 properties instead of
//! 24 rows.
//!
//! The service returns up to 1,000 rows a page and bills by requests, and finding a row costs the same
//! for one value as for 24. Values that are read together are therefore stored together: up to
//! 252 in a row, such as the hours of ten days or the minutes of four hours. Writing a new value is still
//! one small request, and leaves the others unchanged.
//!
//! `cargo run -p azure-table-examples --example time_series` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::error::Error;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::{TableClient, TableEntity};
use azure_table_examples::Columns;
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};

/// A day of a meter. An hour without a value has no property.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Day {
    #[table(partition_key)]
    meter: String,
    #[table(row_key)]
    date: NaiveDate,
    #[table(series = "Watts{:02}")]
    watts: [Option<i32>; 24],
}

/// The same values with one row an hour, for comparison.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
struct Hour {
    #[table(partition_key)]
    meter: String,
    #[table(row_key)]
    begins: DateTime<Utc>,
    watts: i32,
}

const METER: &str = "m1";

/// The days of a year. Each day has the same load, with a peak in the evening.
fn dates() -> impl Iterator<Item = NaiveDate> {
    NaiveDate::from_ymd_opt(2009, 1, 1).into_iter().flat_map(|first| first.iter_days().take(365))
}

fn watts(hour: u8) -> i32 {
    if hour == 19 { 2400 } else { 300 + i32::from(hour) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let days: TableClient<Day> = service.table_named(azure_table_examples::unique("ExampleDays"));
    let hours: TableClient<Hour> =
        service.table_named(azure_table_examples::unique("ExampleHours"));
    days.create().await?;
    hours.create().await?;
    steps.done("create both tables", "");

    let day_rows = dates().map(|date| {
        let watts = std::array::from_fn(|hour| u8::try_from(hour).ok().map(watts));
        BulkOperation::Insert(Day { meter: METER.to_owned(), date, watts })
    });
    let of_days = days.bulk().run(day_rows).await?;
    steps.done("write a year, a day a row", of_days.to_string());

    let hour_rows = dates().flat_map(|date| {
        (0..24).map(move |hour| {
            let begins = date.and_time(NaiveTime::MIN).and_utc() + TimeDelta::hours(hour.into());
            BulkOperation::Insert(Hour { meter: METER.to_owned(), begins, watts: watts(hour) })
        })
    });
    let of_hours = hours.bulk().run(hour_rows).await?;
    steps.done("write the same, an hour a row", of_hours.to_string());
    assert!(of_days.progress.requests * 20 < of_hours.progress.requests);

    let year = days.query().filter(|d| d.meter.eq(METER)).await?;
    let sum: i32 = year.iter().flat_map(|day| day.watts).flatten().sum();
    steps.done("read the year, a day a row", year.cost.to_string());
    let by_hour = hours.query().filter(|h| h.meter.eq(METER)).await?;
    let mut columns = Columns::new(["a year", "rows", "requests to write", "requests to read"]);
    for (layout, written, read) in
        [("a day a row", &of_days, year.cost), ("an hour a row", &of_hours, by_hour.cost)]
    {
        let written = written.progress.requests;
        columns.row([
            layout.to_owned(),
            read.rows.to_string(),
            written.to_string(),
            read.requests.to_string(),
        ]);
    }
    steps.done("read the year, an hour a row", columns.to_string());
    assert_eq!(sum, by_hour.iter().map(|hour| hour.watts).sum::<i32>());
    assert_eq!((year.cost.requests, by_hour.cost.requests), (1, 9));

    // A projection transfers the selected columns only: one hour of each day of a month.
    let july = NaiveDate::from_ymd_opt(2009, 7, 1).zip(NaiveDate::from_ymd_opt(2009, 7, 31));
    let (first, last) = july.ok_or("no July")?;
    let evenings = days
        .query()
        .filter(|d| d.meter.eq(METER) & d.date.between(first, last))
        .select(|d| (d.date, d.watts.at(19)))
        .await?;
    assert_eq!(evenings.len(), 31);
    assert!(evenings.iter().all(|(_, watts)| watts.flatten() == Some(2400)));
    steps.done("the evenings of July", evenings.cost.to_string());

    let above = days.query().filter(|d| d.meter.eq(METER) & d.watts.at(3).gt(1000)).count().await?;
    assert_eq!(above, 0);
    steps.done("the days with more than a kilowatt at three in the morning", above.to_string());

    // New values: `None` is not sent, and a merge leaves the stored value unchanged.
    let today = NaiveDate::from_ymd_opt(2010, 1, 1).ok_or("no such day")?;
    for (hour, value) in [(0, 310), (1, 320), (2, 330), (1, 325)] {
        let mut watts = [None; 24];
        watts[hour] = Some(value);
        days.insert_or_merge(&Day { meter: METER.to_owned(), date: today, watts }).await?;
    }
    let day = days.get(Day::key(METER, today)?).await?;
    assert_eq!(day.watts[..4], [Some(310), Some(325), Some(330), None]);
    steps.done("three hours as they come in, and a correction", "the day has three values");

    days.delete_table().await?;
    hours.delete_table().await?;
    steps.done("delete both tables", "");
    steps.total();
    Ok(())
}
