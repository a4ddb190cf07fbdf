//! The table `[emulation]`: what only a running drive has.

use codec::Codec;
use serde_json::Value;

use crate::error::Refused;
use crate::flash_table::Kind;
use crate::table::table;
use crate::values::{Accepted, Bytes, words};

/// Codecs that are usual; others are these at another level.
pub const CODECS: [&str; 4] = ["zstd-1", "deflate-1", "lz4", "none"];

words! {
    /// Where contents are kept.
    Store {
        /// In memory, reserved before the drive is mounted.
        "memory" => Memory,
        /// In a file without a name, past the page cache.
        "file" => File,
    }
}

/// A codec's name, such as `zstd-1`.
pub struct CodecName;

impl Accepted for CodecName {
    type Plain = String;

    fn read(value: &Value) -> Result<String, String> {
        let name = value.as_str().unwrap_or_default();
        let accepted = |_| "must be one of zstd-1 to zstd-19, deflate-1 to deflate-12, lz4, none".to_owned();
        name.parse::<Codec>().map(|codec| codec.to_string()).map_err(accepted)
    }
}

/// A number of threads.
pub struct Threads;

impl Accepted for Threads {
    type Plain = usize;

    fn read(value: &Value) -> Result<usize, String> {
        let found = value.as_u64().filter(|found| (1..=64).contains(found));
        found.map(|found| found as usize).ok_or_else(|| "must be a whole number from 1 to 64".into())
    }
}

/// Seconds of patience.
pub struct Patience;

impl Accepted for Patience {
    type Plain = f64;

    fn read(value: &Value) -> Result<f64, String> {
        let found = value.as_f64().filter(|found| (1.0..=3600.0).contains(found));
        found.ok_or_else(|| "must be a number from 1 to 3600, in seconds".into())
    }
}

table! {
    /// How a drive is emulated; each key left out is usual.
    Emulation, "emulation" {
        /// What compresses the contents.
        codec: CodecName,
        /// Where contents are kept.
        store: Store,
        /// Room for the contents, reserved before the mount.
        store_bytes: Bytes,
        /// Threads that answer the host.
        threads: Threads,
        /// Requests may wait this long without any being answered.
        watchdog_s: Patience,
        /// Erases that the flash is rated for.
        rated_cycles: u32,
    }
}

impl Emulation {
    /// Values that the keys alone do not rule out.
    pub fn check(&self) -> Result<(), Refused> {
        match self.store_bytes {
            Some(0) => Err(Refused::value("emulation", "store_bytes", 0, "must be at least 1")),
            _ => Ok(()),
        }
    }

    /// The codec, said or usual: a compressing drive compresses with zstd at level 1, a normal one does not.
    pub fn codec(&self, kind: Kind) -> Codec {
        let usual = if kind == Kind::Compressing { Codec::default() } else { Codec::None };
        self.codec.as_deref().and_then(|name| name.parse().ok()).unwrap_or(usual)
    }

    /// Where contents are kept, said or usual.
    pub fn store(&self) -> Store {
        self.store.unwrap_or(Store::Memory)
    }

    /// Threads that answer the host: 2 are enough for most machines.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or(2)
    }

    /// Seconds that requests may wait without any being answered before the connection is cut.
    pub fn watchdog_s(&self) -> f64 {
        self.watchdog_s.unwrap_or(30.0)
    }

    /// Erases that the flash is rated for, said or usual.
    pub fn rated_cycles(&self) -> u32 {
        self.rated_cycles.unwrap_or(3000)
    }
}
