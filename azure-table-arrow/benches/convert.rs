//! Rows of all types to record batches and Parquet, and back, in rows per second; compared with the JSON of the client.
//!
//! `cargo bench -p azure-table-arrow`
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, reason = "benches")]

use std::fs::File;
use std::hint::black_box;
use std::time::Instant;

use azure_table_arrow::{
    BatchBuilder, ParquetWriter, RowReader, SchemaOptions, TableSchema, parquet_rows,
};
use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmDateTime, EdmValue};

fn row(n: u32) -> DynamicEntity {
    let row = DynamicEntity::new(format!("part-{:03}", n % 100), format!("{n:010}"))
        .with("Text", format!("the text of row {n}, of about forty letters"))
        .with("IsRead", n.is_multiple_of(2))
        .with("Rating", i32::try_from(n % 1000).unwrap())
        .with("Views", i64::from(n) << 20)
        .with("Score", f64::from(n) / 3.0)
        .with("Id", EdmValue::Guid(format!("{n:032x}").parse().unwrap()))
        .with("Data", n.to_be_bytes().repeat(8));
    let ticks = 633_752_640_000_000_000 + i64::from(n) * 10_007;
    // A property that every third row lacks.
    if n.is_multiple_of(3) {
        row
    } else {
        row.with("Posted", EdmDateTime::from_ticks(ticks).unwrap())
    }
}

/// The peak of the memory in use, as Linux counts it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".to_owned(), |line| line.trim().to_owned())
}

/// Prints the speed of a conversion that is run `rounds` times, each time of `rows` rows.
fn measure(name: &str, rounds: usize, rows: usize, mut convert: impl FnMut()) {
    let started = Instant::now();
    for _ in 0..rounds {
        convert();
    }
    #[expect(clippy::cast_precision_loss, reason = "few digits are printed")]
    let rate = (rounds * rows) as f64 / started.elapsed().as_secs_f64();
    println!("{name:24} {rate:12.0} rows/s {:8.2} µs/row", 1e6 / rate);
}

fn main() {
    // `cargo test --benches` shows that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let count = if is_bench { 1_000_000 } else { 2000 };
    let sample: Vec<_> = (0..count.min(10_000)).map(row).collect();
    let schema = TableSchema::infer(&sample, &SchemaOptions::new()).unwrap();
    let path = std::env::temp_dir().join(format!("convert-{}.parquet", std::process::id()));
    println!("{count} rows of {} columns", schema.columns().len());

    // First, so that the peak is that of Parquet: the rows are created one by one.
    let rows = count as usize;
    measure("rows to a Parquet file", 1, rows, || {
        let mut writer = ParquetWriter::new(File::create(&path).unwrap(), &schema).unwrap();
        for n in 0..count {
            writer.write(&row(n)).unwrap();
        }
        writer.finish().unwrap();
    });
    println!("{:24} {} bytes, peak memory {}", "", path.metadata().unwrap().len(), peak());
    measure("a Parquet file to rows", 1, rows, || {
        let read = parquet_rows(File::open(&path).unwrap()).unwrap();
        assert_eq!(read.inspect(|row| assert!(row.is_ok())).count(), rows);
    });
    println!("{:24} peak memory {}", "", peak());
    std::fs::remove_file(&path).unwrap();

    let (rows, rounds) = (sample.len(), rows / sample.len());
    let mut builder = BatchBuilder::new(&schema).batch_size(rows);
    let mut batch = builder.finish().unwrap();
    measure("rows to batches", rounds, rows, || {
        for row in &sample {
            builder.append(row).unwrap();
        }
        batch = builder.finish().unwrap();
    });
    measure("batches to rows", rounds, rows, || {
        for row in RowReader::new(&batch).unwrap() {
            black_box(row.unwrap());
        }
    });

    let lines: Vec<_> = sample.iter().map(|row| row.to_json().unwrap()).collect();
    measure("rows to JSON lines", rounds, rows, || {
        for row in &sample {
            black_box(row.to_json().unwrap());
        }
    });
    measure("JSON lines to rows", rounds, rows, || {
        for line in &lines {
            black_box(DynamicEntity::from_json(line).unwrap());
        }
    });
}
