//! A table of a description: its keys, declared once, with what stands behind each.

use serde_json::{Map, Value};

use crate::error::Refused;
use crate::values::{Accepted, shown};

/// Keys and values, in the order in which they are written.
pub type Table = Map<String, Value>;

/// The value of one key; null is as if the key were not there.
pub(crate) fn read<K: Accepted>(table: &str, key: &str, value: &Value) -> Result<Option<K::Plain>, Refused> {
    if value.is_null() {
        return Ok(None);
    }
    K::read(value).map(Some).map_err(|reason| Refused::value(table, key, shown(value), reason))
}

/// Declares a table: a struct with an optional field for each key, and the function that reads it.
macro_rules! table {
    ($(#[$meta:meta])* $name:ident, $table:literal { $($(#[$doc:meta])* $key:ident: $kind:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, ::serde::Serialize)]
        pub struct $name {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")]
            pub $key: Option<<$kind as $crate::values::Accepted>::Plain>,)*
        }

        impl $name {
            /// All keys.
            pub const KEYS: &[&str] = &[$(stringify!($key)),*];

            /// Reads a table; refuses unknown keys and values that none of them can have.
            pub fn parse(given: &$crate::table::Table) -> Result<Self, $crate::error::Refused> {
                let mut found = Self::default();
                for (key, value) in given {
                    match key.as_str() {
                        $(stringify!($key) => found.$key = $crate::table::read::<$kind>($table, key, value)?,)*
                        _ => return Err($crate::error::Refused::unknown_key($table, key, Self::KEYS)),
                    }
                }
                Ok(found)
            }

            /// What is said, in plain numbers and words.
            pub fn table(&self) -> $crate::table::Table {
                match ::serde_json::to_value(self) {
                    Ok(::serde_json::Value::Object(table)) => table,
                    _ => unreachable!("a struct of plain values is an object"),
                }
            }
        }
    };
}
pub(crate) use table;
