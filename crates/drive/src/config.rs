//! The configuration file: one JSON object that says what the drive is, where it lives and what it may use.
//!
//! It also has the keys of a description (crate `description`), as `pgassay drive simulate` reads them. Unknown keys
//! are refused: otherwise a mistyped option would change nothing, unnoticed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use codec::Codec;
use description::{Description, Emulation, FlashTable, Kind, Table, Timing};
use serde::Deserialize;
use serde_json::Value;

use crate::error::DriveError;
use crate::persistence::Persistence;

/// Where the contents are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    /// In memory, reserved up front.
    #[default]
    Memory,
    /// In a file, past the page cache.
    File(PathBuf),
    /// Nowhere: writes vanish and reads are zeros, to measure the way to the drive alone.
    Null,
}

/// Keys that are the file's own.
#[derive(Debug, Clone, Deserialize)]
struct Place {
    name: String,
    directory: PathBuf,
    capacity_bytes: u64,
    #[serde(default)]
    store: StoreKind,
    logical_sector_bytes: Option<u32>,
    #[serde(default)]
    timing: Value,
    #[serde(default = "undilated")]
    dilation: u32,
    #[serde(default)]
    persistence: Persistence,
}

const PLACE_KEYS: [&str; 8] =
    ["name", "directory", "capacity_bytes", "store", "logical_sector_bytes", "timing", "dilation", "persistence"];

/// Requests of a clock that is slower still would wait as long as requests do that nothing answers.
const DILATION_MAX: u32 = 100;

fn undilated() -> u32 {
    1
}

/// What the file says.
#[derive(Debug, Clone)]
pub struct Config {
    /// The drive's name, for messages.
    pub name: String,
    /// The drive's own folder; exists.
    pub directory: PathBuf,
    /// Bytes that the host sees.
    pub capacity_bytes: u64,
    /// Where the contents are kept.
    pub store: StoreKind,
    /// Codec, threads, patience.
    pub emulation: Emulation,
    /// The flash, with the shape that the timing brings.
    pub flash: FlashTable,
    /// The device that has service times.
    pub service: Option<Timing>,
    /// How many times more slowly than the machine's its time passes.
    pub dilation: u32,
    /// What survives a loss of power.
    pub persistence: Persistence,
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
        let all: Table = serde_json::from_str(text).map_err(wrong)?;
        let (place, described): (Table, Table) =
            all.into_iter().partition(|(key, _)| PLACE_KEYS.contains(&key.as_str()));
        let place: Place = serde_json::from_value(place.into()).map_err(wrong)?;
        let (emulation, drive): (Table, Table) =
            described.into_iter().partition(|(key, _)| Emulation::KEYS.contains(&key.as_str()));
        let description = describe(&place, emulation, drive)?;
        description.check_emulated()?;
        let mut flash = description.drive;
        let resolve = |table: &Table| Timing::resolve(table, &mut flash);
        let service = description.timing.as_ref().map(resolve).transpose()?;
        let (Place { name, directory, capacity_bytes, store, dilation, persistence, .. }, emulation) =
            (place, description.emulation);
        Ok(Self { name, directory, capacity_bytes, store, emulation, flash, service, dilation, persistence })
    }

    /// The codec, said or usual for the kind of drive.
    pub fn codec(&self) -> Codec {
        self.emulation.codec(self.flash.kind())
    }
}

fn describe(place: &Place, emulation: Table, drive: Table) -> Result<Description, DriveError> {
    let wrong = |what: &str, hint: &str| Err(DriveError::refused(what.to_owned(), hint));
    if place.capacity_bytes == 0 || place.capacity_bytes % 4096 != 0 || place.capacity_bytes >= 1 << 44 {
        return wrong("capacity_bytes must be a positive multiple of 4096 below 16 TiB", "");
    }
    if place.logical_sector_bytes.is_some_and(|bytes| bytes != 4096) {
        return wrong("logical_sector_bytes must be 4096", "leave it out");
    }
    if let Err(what) = place.persistence.check() {
        return wrong(what, "");
    }
    if !place.timing.is_null() && place.store == StoreKind::Null {
        return wrong("timing cannot be asked of a store that keeps nothing", "leave one of them out");
    }
    if !(1..=DILATION_MAX).contains(&place.dilation) {
        return wrong(&format!("dilation must be from 1 to {DILATION_MAX}"), "it divides the speed of the clock");
    }
    if place.dilation > 1 && place.timing.is_null() {
        return wrong("dilation slows service times, and there are none", "give timing, or leave dilation out");
    }
    let mut document = Table::new();
    if !place.timing.is_null() {
        document.insert("timing".into(), place.timing.clone());
    }
    document.insert("emulation".into(), Value::Object(emulation));
    document.insert("drive".into(), Value::Object(drive));
    let mut description = Description::parse(&document)?;
    let drive = &mut description.drive;
    let said = if drive.kind() == Kind::PageMapped { drive.user_bytes } else { drive.logical_bytes };
    if said.is_some_and(|bytes| bytes != place.capacity_bytes) {
        return wrong("the description's capacity is not capacity_bytes", "leave it out of the description");
    }
    drive.seen_as(place.capacity_bytes);
    Ok(description)
}

#[cfg(test)]
mod tests {
    use codec::Codec;

    use super::{Config, StoreKind};

    fn parse(more: &str) -> Result<Config, String> {
        let text = format!("{{\"name\": \"a\", \"directory\": \"/d\", \"capacity_bytes\": 1073741824{more}}}");
        Config::parse(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_is_usual() {
        let config = parse("").unwrap();
        assert_eq!((config.codec(), config.emulation.threads(), config.store), (Codec::None, 2, StoreKind::Memory));
        assert_eq!(parse(", \"kind\": \"compressing\"").unwrap().codec(), Codec::Zstd(1));
        let config = parse(", \"store\": {\"file\": \"/f\"}, \"policy\": \"fifo\"").unwrap();
        assert_eq!(config.store, StoreKind::File("/f".into()));
        assert_eq!((config.service, config.flash.has_shape()), (None, false));
        assert_eq!(parse(", \"timing\": {}").unwrap().service.unwrap().profile, "tlc-nvme");
        assert_eq!((config.dilation, parse(", \"timing\": {}, \"dilation\": 4").unwrap().dilation), (1, 4));
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
            (", \"persistence\": {\"atomic_write_bytes\": 1000}", "atomic_write_bytes"),
            (", \"persistence\": {\"cache\": \"magic\"}", "magic"),
            (", \"dilation\": 4", "there are none"),
            (", \"timing\": {}, \"dilation\": 0", "from 1 to 100"),
            (", \"timing\": {}, \"dilation\": 101", "from 1 to 100"),
            (", \"timing\": {}, \"dilation\": 1.5", "1.5"),
            (", \"timing\": {}, \"store\": \"null\", \"codec\": \"none\"", "timing"),
        ];
        for (more, named) in wrong {
            let message = parse(more).unwrap_err();
            assert!(message.contains(named), "{more}: {message}");
        }
        assert!(Config::parse("[]").is_err() && Config::parse("{\"name\": \"a\"}").is_err());
    }
}
