//! Which device is emulated: a profile of the flash model's timing layer, with single figures laid over it.
//!
//! A flash profile also brings the shape of the flash unless the description has one: a single die, which is enough for
//! write amplification, would be as slow as one.

use flash::Geometry;
use flash::timing::profiles::NAMES;
use flash::timing::{Device, DiskTimes, FlashDevice, FlashProfile, GcPacing, Profile, RotatingDisk, ServiceTimes};
use serde::Deserialize;
use serde_json::Value;

use crate::description::{Description, Kind};
use crate::error::DriveError;

/// What `timing` without a profile means.
const USUAL: &str = "tlc-nvme";

/// A device with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// The profile's name.
    pub profile: String,
    device: Figures,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Figures {
    Flash(ServiceTimes, Geometry),
    Rotating(DiskTimes),
}

/// The keys of a table: each left out leaves the profile's figure.
macro_rules! keys {
    ($name:ident for $of:ty { $($key:ident: $kind:ty,)* }) => {
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct $name {
            #[allow(dead_code)]
            profile: Option<String>,
            $($key: Option<$kind>,)*
        }

        impl $name {
            fn lay_over(self, found: &mut $of) {
                $(if let Some(value) = self.$key { found.$key = value.into(); })*
            }
        }
    };
}

keys!(FlashKeys for ServiceTimes {
    read_ns: Whole,
    program_ns: Whole,
    erase_ns: Whole,
    channel_bytes_per_second: Whole,
    pages_per_program: u32,
    controller_ns: Whole,
    write_buffer_bytes: Whole,
    reads_first: bool,
    gc_pacing: Pacing,
    link_bytes_per_second: Whole,
    compression_bytes_per_second: Whole,
    decompression_bytes_per_second: Whole,
    power_loss_protection: bool,
    erase_every: u32,
});

keys!(DiskKeys for DiskTimes {
    rotation_ns: Whole,
    track_bytes: Whole,
    track_switch_ns: Whole,
    average_seek_ns: Whole,
    full_seek_ns: Whole,
    write_settle_ns: Whole,
    stroke_share: f64,
    controller_ns: Whole,
    link_bytes_per_second: Whole,
    queue_depth: u32,
    write_cache: bool,
    write_buffer_bytes: Whole,
    read_ahead_bytes: Whole,
});

/// Nanoseconds or bytes: whole, not negative, and small enough that sums of them have room.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "u64")]
struct Whole(u64);

impl TryFrom<u64> for Whole {
    type Error = &'static str;

    fn try_from(value: u64) -> Result<Self, Self::Error> {
        if value <= 1_000_000_000_000 { Ok(Self(value)) } else { Err("a figure above 1000000000000") }
    }
}

impl From<Whole> for u64 {
    fn from(value: Whole) -> Self {
        value.0
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Pacing {
    Paced,
    Burst,
}

impl From<Pacing> for GcPacing {
    fn from(pacing: Pacing) -> Self {
        match pacing {
            Pacing::Paced => Self::Paced,
            Pacing::Burst => Self::Burst,
        }
    }
}

impl Timing {
    /// From the configuration's `timing`: null is none. Gives `flash` the profile's shape if it has none of its own.
    pub fn parse(value: &Value, flash: &mut Description, capacity_bytes: u64) -> Result<Option<Self>, DriveError> {
        if value.is_null() {
            return Ok(None);
        }
        let wrong = |error| DriveError::refused(format!("invalid timing: {error}"), "");
        if !value.is_object() {
            return Err(DriveError::refused("invalid timing: it must be an object", "{\"profile\": \"tlc-nvme\"}"));
        }
        let profile = match value.get("profile") {
            None => USUAL.to_owned(),
            Some(name) => String::deserialize(name).map_err(wrong)?,
        };
        let device = match Profile::named(&profile) {
            Some(Profile::Flash(found)) => {
                let keys = FlashKeys::deserialize(value).map_err(wrong)?;
                Figures::flash(found, keys, flash, capacity_bytes)?
            }
            Some(Profile::Rotating(mut times)) => {
                DiskKeys::deserialize(value).map_err(wrong)?.lay_over(&mut times);
                times.check()?;
                if flash.kind == Kind::Compressing {
                    let message =
                        format!("timing {profile} cannot be asked of a compressing drive: disks do not compress");
                    return Err(DriveError::refused(message, "give it to a page-mapped one, ssd"));
                }
                Figures::Rotating(times)
            }
            None => {
                let message = format!("unknown timing profile {profile}");
                return Err(DriveError::refused(message, format!("one of {}", NAMES.join(", "))));
            }
        };
        Ok(Some(Self { profile, device }))
    }

    /// The device at its time 0, with so many blocks.
    pub fn device(&self, blocks: u32) -> Result<Box<dyn Device>, DriveError> {
        Ok(match self.device {
            Figures::Flash(service, geometry) => Box::new(FlashDevice::new(geometry, service)?),
            Figures::Rotating(times) => Box::new(RotatingDisk::new(times, blocks)?),
        })
    }
}

impl Figures {
    fn flash(
        found: FlashProfile,
        keys: FlashKeys,
        flash: &mut Description,
        capacity_bytes: u64,
    ) -> Result<Self, DriveError> {
        let mut found = found.scaled(capacity_bytes);
        if flash.has_shape() {
            found.geometry = flash.geometry()?;
            found.service.erase_every = 1;
            let pages = found.geometry.flash_pages_per_block;
            found.service.pages_per_program = found.service.pages_per_program.min(pages);
        } else {
            flash.take_shape(&found.geometry);
        }
        if flash.kind != Kind::Compressing {
            (found.service.compression_bytes_per_second, found.service.decompression_bytes_per_second) = (0, 0);
        }
        if let Some(bytes_per_second) = flash.throttled_bytes_per_second {
            found.service.throttled_bytes_per_second = bytes_per_second;
        }
        keys.lay_over(&mut found.service);
        found.service.check(&found.geometry)?;
        Ok(Self::Flash(found.service, found.geometry))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Description, Figures, Timing, Value};

    const CAPACITY: u64 = 1 << 30;

    fn parse(timing: Value, flash: Value) -> Result<(Option<Timing>, Description), String> {
        let mut flash: Description = serde_json::from_value(flash).unwrap();
        let timing = Timing::parse(&timing, &mut flash, CAPACITY).map_err(|error| error.to_string())?;
        Ok((timing, flash))
    }

    #[test]
    fn a_profile_brings_its_shape() {
        let (timing, flash) = parse(json!({"profile": "tlc-nvme"}), json!({})).unwrap();
        assert_eq!((flash.channels, flash.dies_per_channel, flash.flash_pages_per_block), (Some(8), Some(4), Some(3)));
        let Figures::Flash(service, geometry) = timing.unwrap().device else { panic!("a disk") };
        assert_eq!((service.erase_every, geometry.flash_pages_per_block), (512, 3));
        assert_eq!(service.compression_bytes_per_second, 0, "this drive does not compress");
        flash.build(CAPACITY).unwrap();

        let (timing, flash) = parse(json!({}), json!({"pages_per_block": 512, "kind": "compressing"})).unwrap();
        assert_eq!((flash.channels, flash.pages_per_block), (None, Some(512)), "a described shape stays");
        let timing = timing.unwrap();
        assert_eq!(timing.profile, "tlc-nvme");
        assert!(matches!(timing.device, Figures::Flash(service, _) if service.compression_bytes_per_second > 0));
        assert!(timing.device(100).is_ok());
    }

    #[test]
    fn single_figures_are_laid_over() {
        let keys = json!({"profile": "sata-ssd", "read_ns": 7, "gc_pacing": "burst", "power_loss_protection": true});
        let (timing, _) = parse(keys, json!({})).unwrap();
        let Figures::Flash(service, _) = timing.unwrap().device else { panic!("a disk") };
        assert_eq!((service.read_ns, service.power_loss_protection), (7, true));
        let (timing, _) = parse(json!({"profile": "hdd-7200", "write_cache": false}), json!({})).unwrap();
        assert!(matches!(timing.unwrap().device, Figures::Rotating(times) if !times.write_cache));
        assert_eq!(parse(Value::Null, json!({})).unwrap().0, None);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let compressing = json!({"kind": "compressing"});
        let wrong = [
            (json!({"profile": "floppy"}), json!({}), "floppy"),
            (json!({"profile": 3}), json!({}), "invalid timing"),
            (json!({"read_ns": -1}), json!({}), "-1"),
            (json!({"read_ns": 1.5}), json!({}), "1.5"),
            (json!({"read_ns": 10_u64.pow(18)}), json!({}), "1000000000000"),
            (json!({"seek_ns": 1}), json!({}), "seek_ns"),
            (json!({"write_buffer_bytes": 4096}), json!({}), "write buffer bytes"),
            (json!({"profile": "hdd-7200", "read_ns": 1}), json!({}), "read_ns"),
            (json!({"profile": "hdd-7200", "stroke_share": -0.5}), json!({}), "stroke share"),
            (json!({"profile": "hdd-7200"}), compressing, "disks do not compress"),
            (json!([]), json!({}), "invalid timing"),
            (json!("tlc-nvme"), json!({}), "invalid timing"),
        ];
        for (timing, flash, named) in wrong {
            let message = parse(timing.clone(), flash).unwrap_err();
            assert!(message.contains(named), "{timing}: {message}");
        }
    }
}
