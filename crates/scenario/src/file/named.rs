//! Tables that may be written as a single name: `"bulk"` for `{ kind = "bulk" }`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use lasthop_config::strict;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, Visitor};

/// A table that has a name, and a default for every other key.
pub(super) trait Named: DeserializeOwned + JsonSchema {
    /// The name that may be written instead of a table.
    type Name: DeserializeOwned + JsonSchema;
    /// Its name in the JSON schema.
    const SCHEMA: &'static str;
    /// The expected value in the error about a value that is neither a name nor a table.
    const EXPECTED: &'static str;

    /// The table for which a name stands.
    fn named(name: Self::Name) -> Self;
}

/// A table, written as a table or as a name.
#[derive(Clone, Debug)]
pub(super) struct NameOrTable<T>(pub(super) T);

impl<'de, T: Named> Deserialize<'de> for NameOrTable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading<T>(PhantomData<T>);
        impl<'de, T: Named> Visitor<'de> for Reading<T> {
            type Value = NameOrTable<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
                strict::read(StrDeserializer::new(name)).map(|name| NameOrTable(T::named(name)))
            }
            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(entries)).map(NameOrTable)
            }
        }
        deserializer.deserialize_any(Reading(PhantomData))
    }
}

impl<T: Named> JsonSchema for NameOrTable<T> {
    fn schema_name() -> Cow<'static, str> {
        T::SCHEMA.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<T::Name>();
        let table = generator.subschema_for::<T>();
        json_schema!({ "oneOf": [name, table] })
    }
}
