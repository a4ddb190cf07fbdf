//! What stands behind a key: how it may be written, and what it is then.
//!
//! Sizes may be written as postgresql.conf has them (`16GB`), shares as per cent (`7%`), and both as plain numbers.

use serde_json::Value;

/// A kind of value.
pub trait Accepted {
    /// What it becomes.
    type Plain;

    /// The value, or what would be accepted.
    fn read(value: &Value) -> Result<Self::Plain, String>;
}

/// A value as messages show it: a word as it stands, anything else as JSON.
pub fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Accepted for bool {
    type Plain = Self;

    fn read(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| "must be true or false".into())
    }
}

macro_rules! whole_numbers {
    ($($kind:ty),*) => {$(
        impl Accepted for $kind {
            type Plain = Self;

            fn read(value: &Value) -> Result<Self, String> {
                whole(value, <$kind>::MAX.into()).map(|found| found as Self)
            }
        }
    )*};
}
whole_numbers!(u8, u32, u64);

fn whole(value: &Value, most: u64) -> Result<u64, String> {
    let found = value.as_u64().filter(|&found| found <= most);
    found.ok_or_else(|| match most {
        u64::MAX => "must be a whole number, not negative".into(),
        most => format!("must be a whole number from 0 to {most}"),
    })
}

/// A share or ratio: `0.07` or `"7%"`.
pub struct Share;

impl Accepted for Share {
    type Plain = f64;

    fn read(value: &Value) -> Result<f64, String> {
        let percent = |text: &str| text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let found = value.as_f64().or_else(|| value.as_str().and_then(percent).map(|number| number / 100.0));
        let found = found.filter(|found| found.is_finite());
        found.ok_or_else(|| "must be a number or a percentage, such as 0.07 or 7%".into())
    }
}

/// An amount of memory: a number of bytes or `"16GB"`; at most 2^60.
pub struct Bytes;

impl Accepted for Bytes {
    type Plain = u64;

    fn read(value: &Value) -> Result<u64, String> {
        bytes(value, BYTES_MAX)
    }
}

/// The same in 32 bits.
pub struct Bytes32;

impl Accepted for Bytes32 {
    type Plain = u32;

    fn read(value: &Value) -> Result<u32, String> {
        bytes(value, u32::MAX.into()).map(|found| found as u32)
    }
}

const BYTES_MAX: u64 = 1 << 60;

fn bytes(value: &Value, most: u64) -> Result<u64, String> {
    let found = value.as_u64().or_else(|| value.as_str().and_then(parse_memory));
    found.filter(|&found| found <= most).ok_or_else(|| {
        let most = if most == BYTES_MAX { String::new() } else { format!(" up to {most}") };
        format!("must be an amount such as 16GB (units: B, kB, MB, GB, TB), or a whole number of bytes{most}")
    })
}

/// As PostgreSQL writes memory: a number, perhaps with a fraction, and a unit of powers of 1024; rounded to bytes.
fn parse_memory(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|letter: char| letter.is_ascii_alphabetic())?);
    let shift = match unit {
        "B" => 0,
        "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    let bytes = number.trim_end().parse::<f64>().ok()? * f64::from(shift).exp2();
    (bytes.is_finite() && bytes >= 0.0 && bytes < u64::MAX as f64).then(|| bytes.round_ties_even() as u64)
}

/// Nanoseconds, bytes a second: whole, and small enough that sums of them have room.
pub struct Figure;

const FIGURE_MAX: u64 = 1_000_000_000_000;

impl Accepted for Figure {
    type Plain = u64;

    fn read(value: &Value) -> Result<u64, String> {
        whole(value, FIGURE_MAX)
    }
}

/// Bytes of a buffer or a track, as [`Figure`] or `"32MB"`.
pub struct FigureBytes;

impl Accepted for FigureBytes {
    type Plain = u64;

    fn read(value: &Value) -> Result<u64, String> {
        bytes(value, FIGURE_MAX)
    }
}

/// Any text.
impl Accepted for String {
    type Plain = Self;

    fn read(value: &Value) -> Result<Self, String> {
        value.as_str().map(str::to_owned).ok_or_else(|| "must be a word".into())
    }
}

/// Pairs of shares: of `pools`, the share of user capacity and the over-provisioning of each.
pub struct Pairs;

impl Accepted for Pairs {
    type Plain = Vec<[f64; 2]>;

    fn read(value: &Value) -> Result<Self::Plain, String> {
        let pair = |value: &Value| match value.as_array().map(Vec::as_slice) {
            Some([one, other]) => Some([Share::read(one).ok()?, Share::read(other).ok()?]),
            _ => None,
        };
        let found = value.as_array().and_then(|pairs| pairs.iter().map(pair).collect());
        found.ok_or_else(|| "must be a list of pairs of numbers, such as [[0.2, 0.5], [0.8, 0.1]]".into())
    }
}

/// An enumeration whose values have names: the names are written only here, and all other code asks for them.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $word:literal => $variant:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ::serde::Serialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// All names, the usual one first.
            pub const NAMES: &[&str] = &[$($word),*];

            /// The name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl $crate::values::Accepted for $name {
            type Plain = Self;

            fn read(value: &::serde_json::Value) -> Result<Self, String> {
                // "page_mapped" is what the emulated drive's counters say.
                let word = value.as_str().map(|word| word.replace('_', "-"));
                match word.as_deref() {
                    $(Some($word) => Ok(Self::$variant),)*
                    _ => Err(format!("must be one of {}", Self::NAMES.join(", "))),
                }
            }
        }
    };
}
pub(crate) use words;
