//! Strict reading of files. Serde accepts a list for a table and a table for an enum, and the
//! `toml` crate's errors about enums do not list the variants. Here a table must be a table, and an
//! enum is the name of a variant in quotes.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use crate::words::{cut, did_you_mean};

/// Reads `T` strictly. Errors are the deserializer's, for [`crate::words::for_writers`].
pub fn read<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(Strict(deserializer))
}

/// A strict reader of a file or of one of its values. The readers of inner values are also strict.
struct Strict<T>(T);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Strict(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Strict(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Table(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Choice { names, visitor })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.0.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<V::Value, E> {
        self.0.visit_i128(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<V::Value, E> {
        self.0.visit_u128(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.0.visit_f64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.0.visit_str(value)
    }

    fn visit_string<E: Error>(self, value: String) -> Result<V::Value, E> {
        self.0.visit_string(value)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Strict(value))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Strict(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Strict(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Strict(table))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, choice: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(choice)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(Strict(seed))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(Strict(seed))
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        self.0.deserialize(Strict(deserializer))
    }
}

/// Accepts only a table.
struct Table<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Table<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Strict(table))
    }
}

/// Accepts one of these names.
struct Choice<V> {
    names: &'static [&'static str],
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Choice<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.names.iter().map(|name| format!("{name:?}")).collect();
        match &names[..] {
            [one] => f.write_str(one),
            [one, other] => write!(f, "{one} or {other}"),
            _ => write!(f, "one of {}", names.join(", ")),
        }
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        if !self.names.contains(&name) {
            // A digit more or less, as in 802.11ax, is another thing rather than a typing error.
            let is_numbered = name.contains(|letter: char| letter.is_ascii_digit());
            let meant = if is_numbered { String::new() } else { did_you_mean(name, self.names) };
            let expected = &self as &dyn Expected;
            return Err(E::custom(format_args!("{:?}{meant}; expected {expected}", cut(name))));
        }
        self.visitor.visit_enum(StrDeserializer::new(name))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::read;
    use crate::words::for_writers;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct File {
        color: Option<Color>,
        #[serde(default)]
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Color {
        Red,
        LightBlue,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        color: Color,
    }

    fn file(text: &str) -> Result<File, String> {
        let table: toml::Table = toml::from_str(text).expect("TOML");
        read(table).map_err(|error: toml::de::Error| for_writers(error.message()))
    }

    #[test]
    fn correct_values_are_read() {
        let inner = vec![Inner { color: Color::Red }];
        let read = file("color = 'light-blue'\ninner = [{ color = 'red' }]");
        assert_eq!(read, Ok(File { color: Some(Color::LightBlue), inner }));
        assert_eq!(file(""), Ok(File { color: None, inner: Vec::new() }));
    }

    #[test]
    fn the_error_about_a_wrong_choice_lists_the_names() {
        for (value, found) in [
            ("3", "3"),
            ("true", "true"),
            ("'blue'", "\"blue\""),
            ("'rde'", "\"rde\" (did you mean \"red\"?)"),
            ("{}", "a table"),
            ("{ red = 1 }", "a table"),
            ("['red']", "a list"),
        ] {
            let expected = format!("{found}; expected \"red\" or \"light-blue\"");
            assert_eq!(file(&format!("color = {value}")), Err(expected.clone()));
            assert_eq!(file(&format!("inner = [{{ color = {value} }}]")), Err(expected));
        }
    }

    #[test]
    fn a_list_is_not_accepted_for_a_table() {
        assert_eq!(file("inner = [['red']]"), Err("a list; expected a table".to_owned()));
    }
}
