//! Rows to Parquet and back.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use proptest::sample::Index;

use super::*;
use crate::parquet::{ParquetWriter, parquet_rows};
use crate::{Mixed, SchemaOptions, Timestamps};

fn file(rows: &[DynamicEntity], schema: &TableSchema) -> Vec<u8> {
    let mut writer = ParquetWriter::new(Vec::new(), schema).unwrap();
    for row in rows {
        writer.write(row).unwrap();
    }
    assert_eq!(writer.rows(), rows.len() as u64);
    writer.finish().unwrap()
}

fn read(file: Vec<u8>) -> Result<Vec<DynamicEntity>, Error> {
    parquet_rows(Bytes::from(file))?.collect()
}

/// More cases if `AZURE_TABLE_TESTS_FULL` is set.
fn cases() -> u32 {
    if std::env::var_os("AZURE_TABLE_TESTS_FULL").is_some() { 2000 } else { 64 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn rows_survive(rows in typed_rows(all_times())) {
        let options = SchemaOptions::new().timestamps(Timestamps::Ticks);
        let schema = TableSchema::infer(&rows, &options).unwrap();
        prop_assert_eq!(contents(&read(file(&rows, &schema)).unwrap()), contents(&rows));
    }

    #[test]
    fn rows_with_times_in_nanoseconds_survive(rows in typed_rows(nano_times())) {
        let schema = TableSchema::infer(&rows, &SchemaOptions::new()).unwrap();
        prop_assert_eq!(contents(&read(file(&rows, &schema)).unwrap()), contents(&rows));
    }

    #[test]
    fn rows_of_mixed_types_survive(rows in mixed_rows()) {
        let options = SchemaOptions::new().timestamps(Timestamps::Ticks).mixed(Mixed::rest());
        let schema = TableSchema::infer(&rows, &options).unwrap();
        let file = parquet_rows(Bytes::from(file(&rows, &schema))).unwrap();
        prop_assert_eq!(file.schema(), &schema);
        prop_assert_eq!(file.total_rows(), rows.len() as u64);
        let read = file.collect::<Result<Vec<_>, _>>().unwrap();
        prop_assert_eq!(values(&read), values(&rows));
    }

    // A damaged file may lead to other rows, since values have no checksums, but never to a panic.
    #[test]
    fn damaged_files_do_not_panic(
        rows in typed_rows(nano_times()),
        damages in vec(damage(), 32),
    ) {
        let schema = TableSchema::infer(&rows, &SchemaOptions::new()).unwrap();
        let file = file(&rows, &schema);
        for (bytes, end) in damages {
            let mut file = file.clone();
            for (at, byte) in bytes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            if let Some(end) = end {
                file.truncate(end.index(file.len()));
            }
            _ = read(file);
        }
    }
}

/// Bytes that change, and the length of a file that is cut off.
type Damage = (Vec<(Index, u8)>, Option<Index>);

fn damage() -> impl Strategy<Value = Damage> {
    let bytes = vec((any::<Index>(), any::<u8>()), 1..4);
    (bytes, proptest::option::weighted(0.1, any::<Index>()))
}

#[test]
fn files_are_read_in_several_batches() {
    let rows: Vec<_> = (0..5000)
        .map(|n| DynamicEntity::new("p", format!("{n:04}")).with("Data", vec![0; n % 3000]))
        .collect();
    let schema = TableSchema::infer(&rows, &SchemaOptions::new()).unwrap();
    let path =
        std::env::temp_dir().join(format!("azure-table-arrow-{}.parquet", std::process::id()));
    let mut writer = ParquetWriter::new(File::create(&path).unwrap(), &schema).unwrap();
    let (begin, end) = rows.split_at(2500);
    begin.iter().try_for_each(|row| writer.write(row)).unwrap();
    for batch in batches(end, &schema, 1000).unwrap() {
        writer.write_batch(&batch).unwrap();
    }
    writer.finish().unwrap();
    let read = parquet_rows(File::open(&path).unwrap()).unwrap().collect::<Result<Vec<_>, _>>();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(contents(&read.unwrap()), contents(&rows));
}

/// A file whose bytes are read as ranges, as those of a blob.
struct Ranges(Bytes, Arc<AtomicUsize>);

impl Length for Ranges {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ChunkReader for Ranges {
    type T = <Bytes as ChunkReader>::T;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        if self.1.fetch_add(1, Ordering::Relaxed) >= 20 {
            return Err(ParquetError::General("the connection is lost".to_owned()));
        }
        self.0.get_bytes(start, length)
    }
}

#[test]
fn a_file_is_read_from_any_chunk_reader() {
    let rows: Vec<_> =
        (0..10).map(|n| DynamicEntity::new("p", format!("{n}")).with("A", n)).collect();
    let schema = TableSchema::infer(&rows, &SchemaOptions::new()).unwrap();
    let (file, reads) = (Bytes::from(file(&rows, &schema)), Arc::default());
    let read = parquet_rows(Ranges(file.clone(), Arc::clone(&reads))).unwrap();
    assert_eq!(contents(&read.collect::<Result<Vec<_>, _>>().unwrap()), contents(&rows));
    assert!((1..20).contains(&reads.load(Ordering::Relaxed)), "{reads:?}");
    // An error of the reader is an error of the rows.
    reads.store(20, Ordering::Relaxed);
    let error = parquet_rows(Ranges(file, reads)).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    assert!(error.unwrap_err().to_string().contains("the connection is lost"));
}

#[test]
fn a_batch_of_another_schema_is_refused() {
    let schema =
        |name, edm_type| TableSchema::declared([(name, edm_type)], &SchemaOptions::new()).unwrap();
    let file = schema("A", EdmType::Int32);
    let mut writer = ParquetWriter::new(Vec::new(), &file).unwrap();
    let row = DynamicEntity::new("p", "1");
    for other in
        [schema("B", EdmType::Int32), schema("A", EdmType::Int64), file.project(&[0]).unwrap()]
    {
        let batch = batches(std::slice::from_ref(&row), &other, 1).unwrap().remove(0);
        assert!(writer.write_batch(&batch).is_err(), "{other:?}");
    }
    let batch = batches(std::slice::from_ref(&row), &file, 1).unwrap().remove(0);
    writer.write_batch(&batch).unwrap();
    assert_eq!(read(writer.finish().unwrap()).unwrap(), [row]);
}

#[test]
fn a_failing_output_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let schema = TableSchema::infer([], &SchemaOptions::new()).unwrap();
    let result = ParquetWriter::new(Full, &schema).and_then(|mut writer| {
        writer.write(&DynamicEntity::new("p", "1"))?;
        writer.finish()
    });
    assert!(matches!(result.err(), Some(Error::Parquet(_))));
}

#[test]
fn other_files_are_refused() {
    for bytes in [&b""[..], b"PAR1", b"{\"PartitionKey\":\"p\"}"] {
        assert!(matches!(read(bytes.to_vec()), Err(Error::Parquet(_))));
    }
}

/// Returns a file of 10 rows whose footer states other numbers: of the file, and of its row group.
fn file_with_counts(file_rows: i8, group_rows: i8) -> Vec<u8> {
    let rows: Vec<_> =
        (0..10).map(|n| DynamicEntity::new("p", format!("{n}")).with("A", n)).collect();
    let schema = TableSchema::infer(&rows, &SchemaOptions::new()).unwrap();
    let mut file = file(&rows, &schema);
    let metadata =
        ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(file.clone())).unwrap();
    let group = |group: &RowGroupMetaData| {
        group.clone().into_builder().set_num_rows(group_rows.into()).build().unwrap()
    };
    let groups = metadata.row_groups().iter().map(group).collect();
    let metadata = metadata.into_builder().set_row_groups(groups).build();
    let footer = file.len() - 8;
    let length: [u8; 4] = file[footer..footer + 4].try_into().unwrap();
    file.truncate(footer - u32::from_le_bytes(length) as usize);
    ParquetMetaDataWriter::new(&mut file, &metadata).finish().unwrap();
    // The writer states the rows of the row groups: a 64-bit field of Thrift's compact protocol before a list of one struct.
    let zigzag = |count: i8| u8::try_from((count << 1) ^ (count >> 7)).unwrap();
    let field = [0x16, zigzag(group_rows), 0x19, 0x1c];
    let found: Vec<_> = (0..file.len() - 4).filter(|at| file[*at..].starts_with(&field)).collect();
    assert_eq!(found.len(), 1);
    file[found[0] + 1] = zigzag(file_rows);
    file
}

#[test]
fn a_file_with_fewer_or_more_rows_than_it_states_is_an_error() {
    assert_eq!(read(file_with_counts(10, 10)).unwrap().len(), 10);
    // A lost row group, pages without their last rows, and counts that are too small.
    for counts in [(20, 10), (20, 20), (5, 10), (10, 5), (0, 10), (-1, 10)] {
        let read = read(file_with_counts(counts.0, counts.1)).map(|rows| rows.len());
        let read = read.map_err(|error| error.to_string());
        assert!(
            read.as_ref().is_err_and(|error| error.contains("the file is damaged")),
            "{counts:?}: {read:?}"
        );
    }
}
