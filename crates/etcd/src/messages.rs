//! What etcd's JSON gateway says: messages of its `rpc.proto`, with 64-bit numbers as text, octets in base64, and
//! without the fields that are zero.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header {
    #[serde(deserialize_with = "number")]
    pub revision: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeyValue {
    #[serde(deserialize_with = "octets")]
    pub key: Vec<u8>,
    #[serde(deserialize_with = "octets")]
    pub value: Vec<u8>,
    #[serde(deserialize_with = "number")]
    pub mod_revision: u64,
    #[serde(deserialize_with = "number")]
    pub lease: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Range {
    pub header: Header,
    pub kvs: Vec<KeyValue>,
    pub more: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Txn {
    pub header: Header,
    pub succeeded: bool,
    pub responses: Vec<Response>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Response {
    pub response_range: Option<Range>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lease {
    #[serde(rename = "ID", deserialize_with = "number")]
    pub id: u64,
    #[serde(rename = "TTL", deserialize_with = "number")]
    pub ttl: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Token {
    pub token: String,
}

/// A message of a stream.
#[derive(Debug, Deserialize)]
pub struct Streamed<T> {
    pub result: Option<T>,
    pub error: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Watched {
    pub header: Header,
    pub canceled: bool,
    #[serde(deserialize_with = "number")]
    pub compact_revision: u64,
    pub events: Vec<Event>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Event {
    /// `DELETE`; a put has none.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub kv: KeyValue,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Failure {
    pub error: String,
    pub code: u32,
}

pub fn base64(octets: &[u8]) -> String {
    STANDARD.encode(octets)
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Text(String),
        Number(u64),
    }
    match Number::deserialize(deserializer)? {
        Number::Text(text) => text.parse().map_err(serde::de::Error::custom),
        Number::Number(number) => Ok(number),
    }
}

fn octets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_text_and_what_is_zero_is_absent() {
        let text = r#"{"header":{"cluster_id":"1","revision":"7"},"kvs":[{"key":"YQ==","mod_revision":"5"}],"count":"1"}"#;
        let range: Range = serde_json::from_str(text).expect("a range");
        assert_eq!((range.header.revision, range.more), (7, false));
        let found = &range.kvs[0];
        assert_eq!(
            (&*found.key, &*found.value, found.mod_revision, found.lease),
            (&b"a"[..], &b""[..], 5, 0)
        );
    }

    #[test]
    fn a_number_that_is_negative_or_none_is_refused() {
        for text in [r#"{"revision":"-1"}"#, r#"{"revision":"x"}"#, r#"{"revision":1.5}"#] {
            assert!(serde_json::from_str::<Header>(text).is_err(), "{text}");
        }
    }
}
