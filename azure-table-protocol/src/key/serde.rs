//! Keys and their parts for serde: a part as its value, a key as its two texts.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Descending, EntityKey, Escaped};

impl<T: Serialize> Serialize for Descending<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Descending<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

impl Serialize for Escaped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Escaped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

/// The PartitionKey and the RowKey, as a pair.
impl Serialize for EntityKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.partition_key, &self.row_key).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EntityKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <(String, String)>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_their_values_and_keys_are_pairs() {
        fn round_trip<T>(value: &T, json: &str)
        where
            T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
        {
            assert_eq!(serde_json::to_string(value).unwrap(), json);
            assert_eq!(serde_json::from_str::<T>(json).unwrap(), *value);
        }
        round_trip(&Descending(5_u8), "5");
        round_trip(&Escaped::from("a/b"), r#""a/b""#);
        round_trip(&EntityKey::new("p", "it's \"r\""), r#"["p","it's \"r\""]"#);
        assert!(serde_json::from_str::<EntityKey>(r#"["p"]"#).is_err());
    }
}
