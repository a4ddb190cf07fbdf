//! The configuration file: one JSON object that says what the drive is, where it lives and what it may use.
//!
//! Keys of the flash model have the names that `pgassay simulate` gives them. Unknown keys are refused: a mistyped
//! option would otherwise change nothing and nobody would know.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use codec::{Codec, UnknownCodec};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::description::Description;
use crate::error::DriveError;
use crate::timing::Timing;

/// Where the contents are kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    /// In memory, reserved up front.
    Memory,
    /// In a file, past the page cache.
    File(PathBuf),
    /// Nowhere: writes vanish and reads are zeros, to measure the way to the drive alone.
    Null,
}

/// What the file says.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    /// The drive's name, for messages.
    pub name: String,
    /// The drive's own folder; exists.
    pub directory: PathBuf,
    /// Bytes that the host sees.
    pub capacity_bytes: u64,
    /// Must be 4096.
    #[serde(default = "usual::sector")]
    pub logical_sector_bytes: u32,
    /// `zstd-1`, `deflate-1`, `lz4` or `none`.
    #[serde(default = "usual::codec")]
    pub codec: String,
    /// Where the contents are kept.
    #[serde(default = "usual::store")]
    pub store: StoreKind,
    /// Room for the contents, reserved up front; by default the drive's usable flash and what the log's headers take.
    pub store_bytes: Option<u64>,
    /// Threads that answer the host.
    #[serde(default = "usual::threads")]
    pub threads: usize,
    /// Seconds that requests may wait without any being answered before the connection is cut.
    #[serde(default = "usual::watchdog")]
    pub watchdog_s: f64,
    /// Program/erase cycles that the flash is rated for.
    #[serde(default = "usual::cycles")]
    pub rated_cycles: u32,
    /// Service times, as they are written: null for none.
    #[serde(default)]
    timing: Value,
    /// The device that has them.
    #[serde(skip)]
    pub service: Option<Timing>,
    /// The flash model's part: all keys that are not named above.
    #[serde(skip)]
    pub flash: Description,
}

/// The keys above; what else the file holds describes the flash.
const OWN_KEYS: [&str; 11] = [
    "name",
    "directory",
    "capacity_bytes",
    "logical_sector_bytes",
    "codec",
    "store",
    "store_bytes",
    "threads",
    "watchdog_s",
    "rated_cycles",
    "timing",
];

mod usual {
    use super::StoreKind;

    pub fn sector() -> u32 {
        4096
    }
    pub fn codec() -> String {
        "zstd-1".into()
    }
    pub fn store() -> StoreKind {
        StoreKind::Memory
    }
    pub fn threads() -> usize {
        2
    }
    pub fn watchdog() -> f64 {
        30.0
    }
    pub fn cycles() -> u32 {
        3000
    }
}

impl Config {
    /// Reads and checks a file, which only its owner may read.
    pub fn read(path: &Path) -> Result<Self, DriveError> {
        let shown = path.display();
        let failed = |error| DriveError::refused(format!("cannot read {shown}: {error}"), "");
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode() & 0o077;
        if mode != 0 {
            let message = format!("{shown} may be read by others");
            return Err(DriveError::refused(message, "chmod 600 it"));
        }
        let text = fs::read_to_string(path).map_err(failed)?;
        Self::parse(&text)
    }

    /// Parses and checks.
    pub fn parse(text: &str) -> Result<Self, DriveError> {
        let wrong = |error| DriveError::refused(format!("invalid configuration: {error}"), "");
        let all: Map<String, Value> = serde_json::from_str(text).map_err(wrong)?;
        let (own, flash): (Map<_, _>, Map<_, _>) =
            all.into_iter().partition(|(key, _)| OWN_KEYS.contains(&key.as_str()));
        let mut config: Self = serde_json::from_value(own.into()).map_err(wrong)?;
        config.flash = serde_json::from_value(flash.into()).map_err(wrong)?;
        config.check()?;
        config.service = Timing::parse(&config.timing, &mut config.flash, config.capacity_bytes)?;
        config.flash.check(config.capacity_bytes)?;
        Ok(config)
    }

    fn check(&self) -> Result<(), DriveError> {
        let wrong = |what: &str, hint: &str| Err(DriveError::refused(what.to_owned(), hint));
        if self.capacity_bytes == 0 || self.capacity_bytes % 4096 != 0 || self.capacity_bytes >= 1 << 44 {
            return wrong("capacity_bytes must be a positive multiple of 4096 below 16 TiB", "");
        }
        if self.logical_sector_bytes != 4096 {
            return wrong("logical_sector_bytes must be 4096", "leave it out");
        }
        if !(1..=64).contains(&self.threads) {
            return wrong("threads must be between 1 and 64", "2 are enough for most machines");
        }
        if !(self.watchdog_s >= 1.0 && self.watchdog_s <= 3600.0) {
            return wrong("watchdog_s must be between 1 and 3600 seconds", "");
        }
        if !self.timing.is_null() && self.store == StoreKind::Null {
            return wrong("timing cannot be asked of a store that keeps nothing", "leave one of them out");
        }
        self.codec().map(|_| ())
    }

    /// The codec that is named.
    pub fn codec(&self) -> Result<Codec, DriveError> {
        self.codec
            .parse()
            .map_err(|error: UnknownCodec| DriveError::refused(error.to_string(), "zstd-1 is the usual one"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, StoreKind};

    fn parse(more: &str) -> Result<Config, String> {
        let text = format!("{{\"name\": \"a\", \"directory\": \"/d\", \"capacity_bytes\": 1073741824{more}}}");
        Config::parse(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_is_usual() {
        let config = parse("").unwrap();
        assert_eq!((config.codec.as_str(), config.threads, config.store), ("zstd-1", 2, StoreKind::Memory));
        let config = parse(", \"store\": {\"file\": \"/f\"}, \"policy\": \"fifo\"").unwrap();
        assert_eq!(config.store, StoreKind::File("/f".into()));
        assert_eq!((config.service, config.flash.has_shape()), (None, false));
        assert_eq!(parse(", \"timing\": {}").unwrap().service.unwrap().profile, "tlc-nvme");
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let wrong = [
            (", \"polcy\": \"fifo\"", "polcy"),
            (", \"codec\": \"rar\"", "rar"),
            (", \"logical_sector_bytes\": 512", "logical_sector_bytes"),
            (", \"threads\": 0", "threads"),
            (", \"over_provisioning\": 0", "over-provisioning"),
            (", \"policy\": \"d-choices\", \"choices\": 0", "d-choices must draw"),
            (", \"kind\": \"compressing\", \"granularity_bytes\": 3", "granularity"),
            (", \"watchdog_s\": 0.1", "watchdog_s"),
            (", \"timing\": {\"profile\": \"floppy\"}", "floppy"),
            (", \"timing\": {}, \"store\": \"null\", \"codec\": \"none\"", "timing"),
        ];
        for (more, named) in wrong {
            let message = parse(more).unwrap_err();
            assert!(message.contains(named), "{more}: {message}");
        }
        assert!(Config::parse("[]").is_err() && Config::parse("{\"name\": \"a\"}").is_err());
    }
}
