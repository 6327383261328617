//! The form of rows in memory and in temporary files: without the limits of a service, and exact to the last bit.

use std::io::{self, BufRead, Read, Write};

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, EntityKey};
use uuid::Uuid;

use crate::key_order::Ordered;

/// The approximate memory of a row besides its texts.
const OVERHEAD: usize = 96;

/// A row whose properties are encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: Ordered,
    properties: Vec<u8>,
}

impl Row {
    pub(super) fn encode(row: &DynamicEntity) -> Self {
        let mut properties = Vec::new();
        for (name, value) in row {
            put_bytes(&mut properties, name.as_bytes());
            put_value(&mut properties, value);
        }
        Self { key: Ordered(row.key().clone()), properties }
    }

    pub(super) fn decode(self) -> io::Result<DynamicEntity> {
        let EntityKey { partition_key, row_key } = self.key.0;
        let mut row = DynamicEntity::new(partition_key, row_key);
        let mut properties = self.properties.as_slice();
        while !properties.is_empty() {
            row.set(text(&mut properties)?, value(&mut properties)?);
        }
        Ok(row)
    }

    pub(super) fn bytes(&self) -> usize {
        let EntityKey { partition_key, row_key } = &self.key.0;
        self.properties.len() + partition_key.len() + row_key.len() + OVERHEAD
    }

    pub(super) fn write(&self, file: &mut impl Write) -> io::Result<()> {
        let EntityKey { partition_key, row_key } = &self.key.0;
        for bytes in [partition_key.as_bytes(), row_key.as_bytes(), &self.properties] {
            file.write_all(&(bytes.len() as u64).to_le_bytes())?;
            file.write_all(bytes)?;
        }
        Ok(())
    }

    /// Reads the next row of a file; `None` at its end.
    pub(super) fn read(file: &mut impl BufRead) -> io::Result<Option<Self>> {
        if file.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let (partition_key, row_key) = (text(file)?, text(file)?);
        let key = Ordered(EntityKey { partition_key, row_key });
        Ok(Some(Self { key, properties: bytes(file)? }))
    }
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend((bytes.len() as u64).to_le_bytes());
    to.extend(bytes);
}

fn put_value(to: &mut Vec<u8>, value: &EdmValue) {
    let tag = match value {
        EdmValue::String(_) => 0,
        EdmValue::Boolean(_) => 1,
        EdmValue::Int32(_) => 2,
        EdmValue::Int64(_) => 3,
        EdmValue::Double(_) => 4,
        EdmValue::DateTime(_) => 5,
        EdmValue::Guid(_) => 6,
        EdmValue::Binary(_) => 7,
    };
    to.push(tag);
    match value {
        EdmValue::String(value) => put_bytes(to, value.as_bytes()),
        EdmValue::Boolean(value) => to.push(u8::from(*value)),
        EdmValue::Int32(value) => to.extend(value.to_le_bytes()),
        EdmValue::Int64(value) => to.extend(value.to_le_bytes()),
        EdmValue::Double(value) => to.extend(value.to_bits().to_le_bytes()),
        EdmValue::DateTime(value) => to.extend(value.ticks().to_le_bytes()),
        EdmValue::Guid(value) => to.extend(value.as_bytes()),
        EdmValue::Binary(value) => put_bytes(to, value),
    }
}

fn value(from: &mut &[u8]) -> io::Result<EdmValue> {
    Ok(match array::<1>(from)? {
        [0] => EdmValue::String(text(from)?),
        [1] => EdmValue::Boolean(array(from)? != [0]),
        [2] => EdmValue::Int32(i32::from_le_bytes(array(from)?)),
        [3] => EdmValue::Int64(i64::from_le_bytes(array(from)?)),
        [4] => EdmValue::Double(f64::from_bits(u64::from_le_bytes(array(from)?))),
        [5] => {
            let ticks = i64::from_le_bytes(array(from)?);
            EdmValue::DateTime(EdmDateTime::from_ticks(ticks).map_err(invalid)?)
        }
        [6] => EdmValue::Guid(Uuid::from_bytes(array(from)?)),
        [7] => EdmValue::Binary(bytes(from)?.into()),
        [tag] => return Err(invalid(format!("unknown type {tag}"))),
    })
}

fn array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn bytes(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = u64::from_le_bytes(array(from)?);
    let mut bytes = Vec::new();
    if from.take(length).read_to_end(&mut bytes)? as u64 == length {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn text(from: &mut impl Read) -> io::Result<String> {
    String::from_utf8(bytes(from)?).map_err(invalid)
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> DynamicEntity {
        DynamicEntity::new("p\n", "\u{1f600}")
            .with("Text", "x".repeat(100_000))
            .with("Empty", "")
            .with("Yes", true)
            .with("No", false)
            .with("Small", i32::MIN)
            .with("Large", i64::MAX)
            .with("Zero", -0.0)
            .with("NotANumber", f64::NAN)
            .with("First", EdmDateTime::MIN)
            .with("Last", EdmDateTime::MAX)
            .with("Id", Uuid::from_u128(1))
            .with("Data", vec![0_u8, 255])
            .with("NoData", Vec::<u8>::new())
    }

    #[test]
    fn a_row_of_all_types_stays_the_same() {
        let encoded = Row::encode(&row());
        let mut file = Vec::new();
        encoded.write(&mut file).unwrap();
        encoded.write(&mut file).unwrap();
        let mut file = file.as_slice();
        for _ in 0..2 {
            let read = Row::read(&mut file).unwrap().unwrap();
            assert_eq!(read, encoded);
            assert_eq!(read.decode().unwrap(), row());
        }
        assert_eq!(Row::read(&mut file).unwrap(), None);
    }

    #[test]
    fn a_truncated_file_is_an_error() {
        let mut file = Vec::new();
        Row::encode(&DynamicEntity::new("p", "r").with("N", 1)).write(&mut file).unwrap();
        for length in 1..file.len() {
            assert!(Row::read(&mut &file[..length]).is_err(), "{length}");
        }
    }
}
