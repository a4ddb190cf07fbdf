//! A whole description: flash, service times, emulation; by preset, or from the tables of a file.

use serde_json::Value;

use crate::emulation::Emulation;
use crate::error::Refused;
use crate::flash_table::{Configuration, FlashTable, Kind};
use crate::table::Table;
use crate::timing::{self, Timing};

/// Drives by name: a normal one, and one with transparent compression; the same flash, the same over-provisioning.
pub const PRESETS: [&str; 2] = ["ssd", "csd"];

/// Tables of a file that say what is done with the drive by `pgassay drive simulate`.
const OF_SIMULATE: [&str; 3] = ["input", "run", "life"];

/// One drive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Description {
    /// The flash.
    pub drive: FlashTable,
    /// Service times as they are written, of a known profile; `None` for a drive without.
    pub timing: Option<Table>,
    /// What only a running drive has.
    pub emulation: Emulation,
}

impl Description {
    /// A drive by name.
    pub fn preset(name: &str) -> Result<Self, Refused> {
        let kind = match name {
            "ssd" => Kind::PageMapped,
            "csd" => Kind::Compressing,
            _ => {
                return Err(Refused::new(
                    format!("there is no drive {name}"),
                    format!("one of {}", PRESETS.join(", ")),
                ));
            }
        };
        let mut found = Self::default();
        found.drive.kind = Some(kind);
        found.drive.over_provisioning = Some(0.07);
        found.emulation.codec = Some(found.emulation.codec(kind).to_string());
        Ok(found)
    }

    /// The tables of a file; those that only `pgassay drive simulate` reads are left to it.
    pub fn parse(document: &Table) -> Result<Self, Refused> {
        let mut found = Self::default();
        for (name, value) in document {
            let table = value.as_object();
            match (name.as_str(), table) {
                (name, _) if OF_SIMULATE.contains(&name) => {}
                ("drive", Some(table)) => found.drive = FlashTable::parse(table)?,
                ("timing", Some(table)) => found.timing = Some(table.clone()),
                ("emulation", Some(table)) => found.emulation = Emulation::parse(table)?,
                ("drive" | "timing" | "emulation", None) => {
                    return Err(Refused::new(format!("\"{name}\" must be a table"), format!("write [{name}]")));
                }
                (name, _) => {
                    let known = "the tables are drive, timing, emulation; input, run and life are simulate's";
                    return Err(Refused::new(format!("unknown table \"{name}\""), known));
                }
            }
        }
        if let Some(table) = &mut found.timing {
            *table = timing::plain(table)?;
        }
        found.emulation.check()?;
        found.check_thin()?;
        Ok(found)
    }

    /// Some values set by their keys: `drive.policy`, `emulation.codec` …, and `timing` as a whole (null for none).
    pub fn with(&self, changes: &Table) -> Result<Self, Refused> {
        let (mut drive, mut emulation) = (self.drive.table(), self.emulation.table());
        let mut timing = self.timing.clone();
        for (key, value) in changes {
            match key.split_once('.') {
                Some(("drive", key)) => {
                    // Over-provisioning is said in one of two ways.
                    if key == "over_provisioning" {
                        drive.remove("spare_of_physical");
                    }
                    drive.insert(key.to_owned(), value.clone());
                }
                Some(("emulation", key)) => {
                    emulation.insert(key.to_owned(), value.clone());
                }
                _ if key == "timing" => timing = value.as_object().cloned(),
                _ => {
                    return Err(Refused::unknown_key("description", key, &["drive.…", "emulation.…", "timing"]));
                }
            }
        }
        let mut document = Table::new();
        document.insert("drive".into(), Value::Object(drive));
        document.insert("emulation".into(), Value::Object(emulation));
        if let Some(timing) = timing {
            document.insert("timing".into(), Value::Object(timing));
        }
        Self::parse(&document)
    }

    /// The same drive with another capacity.
    pub fn with_capacity(&self, bytes: u64) -> Self {
        let mut found = self.clone();
        found.drive.set_capacity(bytes);
        found
    }

    /// More may be promised than there is flash for, but then how much flash there is must be said.
    fn check_thin(&self) -> Result<(), Refused> {
        match (self.drive.logical_bytes, self.drive.user_bytes) {
            (Some(_), None) => Err(Refused::new(
                "drive lacks user_bytes, the flash behind logical_bytes",
                "give user_bytes, or only user_bytes",
            )),
            _ => Ok(()),
        }
    }

    /// Everything that is refused before such a drive is made; its capacity is known. What the model is asked for, and
    /// the device whose service times it has.
    pub fn resolve(&self) -> Result<(Configuration, Option<Timing>), Refused> {
        let mut drive = self.drive.clone();
        let timing = self.timing.as_ref().map(|table| Timing::resolve(table, &mut drive)).transpose()?;
        Ok((drive.configuration()?, timing))
    }

    /// The same for a drive that is to be emulated, which can do less than a simulated one.
    pub fn check_emulated(&self) -> Result<(), Refused> {
        match self.resolve()? {
            (Configuration::Pools(_), _) => {
                let message = "drive pools can be simulated, not emulated";
                Err(Refused::new(message, "leave pools out, or use pgassay drive simulate"))
            }
            _ => Ok(()),
        }
    }
}
