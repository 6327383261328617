//! Parquet files between this crate and pyarrow.
#![cfg(feature = "parquet")]

use std::error::Error;
use std::fs::{self, File};
use std::process::Command;

use azure_table_arrow::{Mixed, ParquetWriter, SchemaOptions, TableSchema, parquet_rows};
use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmDateTime, EdmValue};

fn rows() -> Result<Vec<DynamicEntity>, Box<dyn Error>> {
    let first = DynamicEntity::new("p", "1")
        .with("Text", "line\n\u{1F600}")
        .with("IsRead", true)
        .with("Rating", i32::MIN)
        .with("Views", i64::MAX)
        .with("Score", -0.0)
        .with("Posted", "2009-04-14T00:00:00.0000001Z".parse::<EdmDateTime>()?)
        .with("Id", EdmValue::Guid("00112233-4455-6677-8899-aabbccddeeff".parse()?))
        .with("Data", vec![0, 255]);
    let second = DynamicEntity::new("p", "2").with("Text", "").with("Score", f64::NAN);
    let second = second.with("Data", Vec::<u8>::new()).with("Mixed", "x");
    Ok(vec![first, second, DynamicEntity::new("p", "3").with("Mixed", 3)])
}

#[test]
#[ignore = "needs pyarrow: tests/pyarrow/run starts it"]
fn pyarrow_reads_and_writes_the_same_rows() -> Result<(), Box<dyn Error>> {
    let python =
        std::env::var_os("AZURE_TABLE_ARROW_PYTHON").ok_or("no AZURE_TABLE_ARROW_PYTHON")?;
    let folder = std::env::temp_dir().join(format!("azure-table-pyarrow-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (ours, theirs) = (folder.join("ours.parquet"), folder.join("theirs.parquet"));

    let rows = rows()?;
    let schema = TableSchema::infer(&rows, &SchemaOptions::new().mixed(Mixed::rest()))?;
    let mut writer = ParquetWriter::new(File::create(&ours)?, &schema)?;
    rows.iter().try_for_each(|row| writer.write(row))?;
    writer.finish()?;

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pyarrow/check.py");
    let output = Command::new(python).arg(script).args([&ours, &theirs]).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    print!("{}", String::from_utf8_lossy(&output.stdout));

    let read = parquet_rows(File::open(&theirs)?)?.collect::<Result<Vec<_>, _>>()?;
    let expected = DynamicEntity::new("p", "1")
        .with("Posted", "2009-04-14T12:00:00.000001Z".parse::<EdmDateTime>()?)
        .with("Id", EdmValue::Guid("00000000-0000-0000-0000-000000000001".parse()?))
        .with("Data", vec![0])
        .with("Score", f64::INFINITY)
        .with("Views", (1_i64 << 53) + 1)
        .with("IsRead", false);
    assert_eq!(read, [expected]);

    let compressed = File::open(folder.join("theirs.parquet.zstd"))?;
    let read = parquet_rows(compressed)?.collect::<Result<Vec<_>, _>>();
    match read {
        Ok(rows) => assert!(cfg!(feature = "zstd") && rows.len() == 1),
        Err(error) => {
            assert!(!cfg!(feature = "zstd") && error.to_string().contains("zstd"), "{error}");
        }
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}
