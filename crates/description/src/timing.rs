//! The table `[timing]`: a profile of the flash model's timing layer, with single figures laid over it.
//!
//! A flash profile also brings the shape of the flash unless the description has one: a single die, which is enough for
//! write amplification, would be as slow as one.

pub use flash::timing::profiles::NAMES as PROFILES;
use flash::timing::{
    Device, DiskTimes, FlashDevice, FlashProfile, GcPacing, Profile, RotatingDisk, ServiceTimes, Volume, VolumeTimes,
};
use flash::{FlashError, Geometry};

use crate::error::Refused;
use crate::flash_table::{FlashTable, Kind};
use crate::table::{Table, table};
use crate::values::{Figure, FigureBytes, Share, shown, words};

/// What `timing` without a profile means to a drive that runs.
const USUAL: &str = "tlc-nvme";

words! {
    /// When garbage collection moves data.
    Pacing {
        /// Spread over the host writes for which it makes room.
        "paced" => Paced,
        /// All at once.
        "burst" => Burst,
    }
}

table! {
    /// Service times of flash.
    TimingTable, "timing" {
        /// The device whose figures hold where none is given.
        profile: String,
        /// Sensing a flash page.
        read_ns: Figure,
        /// One program of a die.
        program_ns: Figure,
        /// One block on each plane of a die.
        erase_ns: Figure,
        /// Each channel's speed.
        channel_bytes_per_second: Figure,
        /// Flash pages of each plane in a program.
        pages_per_program: u32,
        /// Added to each request.
        controller_ns: Figure,
        /// Answered but not yet programmed.
        write_buffer_bytes: FigureBytes,
        /// Whether reads overtake queued work.
        reads_first: bool,
        /// When garbage collection moves data.
        gc_pacing: Pacing,
        /// The host's link.
        link_bytes_per_second: Figure,
        /// An engine in the drive.
        compression_bytes_per_second: Figure,
        /// The other way.
        decompression_bytes_per_second: Figure,
        /// Whether the buffer survives a loss of power.
        power_loss_protection: bool,
        /// Superblocks that are erased before the flash is, once for all.
        erase_every: u32,
    }
}

table! {
    /// Service times of a disk with a moving arm.
    DiskTable, "timing" {
        /// The device whose figures hold where none is given.
        profile: String,
        /// One turn.
        rotation_ns: Figure,
        /// What passes under a head in a turn.
        track_bytes: FigureBytes,
        /// From a track to the next.
        track_switch_ns: Figure,
        /// Over a third of the stroke.
        average_seek_ns: Figure,
        /// Over all of it.
        full_seek_ns: Figure,
        /// More for a write.
        write_settle_ns: Figure,
        /// What part of the stroke the drive's addresses span.
        stroke_share: Share,
        /// Added to each request.
        controller_ns: Figure,
        /// The host's link.
        link_bytes_per_second: Figure,
        /// Requests among which the disk chooses.
        queue_depth: u32,
        /// Whether writes are answered from a cache.
        write_cache: bool,
        /// Its size.
        write_buffer_bytes: FigureBytes,
        /// What is read on after a request.
        read_ahead_bytes: FigureBytes,
    }
}

table! {
    /// Caps and latencies of a cloud's volume.
    VolumeTable, "timing" {
        /// The device whose figures hold where none is given.
        profile: String,
        /// I/Os a second for as long as one likes.
        iops: Figure,
        /// I/Os a second while there are credits.
        burst_iops: Figure,
        /// Credits of a full bucket.
        burst_ios: Figure,
        /// Reads and writes together.
        bytes_per_second: Figure,
        /// What counts as one I/O.
        io_bytes: FigureBytes,
        /// A read or write that passed the caps.
        latency_ns: Figure,
        /// One of the few that take long.
        tail_ns: Figure,
        /// Their share.
        tail_share: Share,
        /// A flush.
        flush_ns: Figure,
        /// Requests on their way at once.
        queue_depth: u32,
    }
}

/// Lays the figures that are said over others.
macro_rules! lay_over {
    ($table:expr, $found:expr, $($key:ident),*) => {
        $(if let Some(value) = $table.$key { $found.$key = value.into(); })*
    };
}

impl From<Pacing> for GcPacing {
    fn from(pacing: Pacing) -> Self {
        match pacing {
            Pacing::Paced => Self::Paced,
            Pacing::Burst => Self::Burst,
        }
    }
}

impl TimingTable {
    /// Lays what is said over other service times.
    pub fn lay_over(&self, found: &mut ServiceTimes) {
        lay_over!(
            self,
            found,
            read_ns,
            program_ns,
            erase_ns,
            channel_bytes_per_second,
            pages_per_program,
            controller_ns,
            write_buffer_bytes,
            reads_first,
            gc_pacing,
            link_bytes_per_second,
            compression_bytes_per_second,
            decompression_bytes_per_second,
            power_loss_protection,
            erase_every
        );
    }
}

impl DiskTable {
    fn lay_over(&self, found: &mut DiskTimes) {
        lay_over!(
            self,
            found,
            rotation_ns,
            track_bytes,
            track_switch_ns,
            average_seek_ns,
            full_seek_ns,
            write_settle_ns,
            stroke_share,
            controller_ns,
            link_bytes_per_second,
            queue_depth,
            write_cache,
            write_buffer_bytes,
            read_ahead_bytes
        );
    }
}

impl VolumeTable {
    fn lay_over(&self, found: &mut VolumeTimes) {
        lay_over!(
            self,
            found,
            iops,
            burst_iops,
            burst_ios,
            bytes_per_second,
            io_bytes,
            latency_ns,
            tail_ns,
            tail_share,
            flush_ns,
            queue_depth
        );
    }
}

/// Whether a profile's times are those of flash, whose shape it brings.
pub fn is_of_flash(profile: &str) -> bool {
    matches!(Profile::named(profile), Some(Profile::Flash(_)))
}

/// The name of the profile that a table asks for.
pub fn profile_of(table: &Table) -> Result<&str, Refused> {
    let Some(value) = table.get("profile").filter(|value| !value.is_null()) else {
        return Ok(USUAL);
    };
    let known = value.as_str().filter(|name| PROFILES.contains(name));
    known.ok_or_else(|| {
        let reason = format!("must be one of {}", PROFILES.join(", "));
        Refused::value("timing", "profile", shown(value), reason)
    })
}

/// The table with sizes as numbers; refuses keys that the profile does not have.
pub fn plain(table: &Table) -> Result<Table, Refused> {
    Ok(match Profile::named(profile_of(table)?) {
        Some(Profile::Rotating(_)) => DiskTable::parse(table)?.table(),
        Some(Profile::Volume(_)) => VolumeTable::parse(table)?.table(),
        Some(Profile::Flash(_)) | None => TimingTable::parse(table)?.table(),
    })
}

/// A device with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// The profile's name.
    pub profile: String,
    figures: Figures,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Figures {
    Flash(ServiceTimes, Geometry),
    Rotating(DiskTimes),
    Volume(VolumeTimes),
}

impl Timing {
    /// The device that a table asks for, under a drive whose capacity is known. Gives the drive the profile's shape if
    /// it has none of its own.
    pub fn resolve(table: &Table, drive: &mut FlashTable) -> Result<Self, Refused> {
        let profile = profile_of(table)?.to_owned();
        let figures = match Profile::named(&profile) {
            Some(Profile::Flash(found)) => Figures::flash(found, &TimingTable::parse(table)?, drive)?,
            Some(Profile::Rotating(mut times)) => {
                DiskTable::parse(table)?.lay_over(&mut times);
                times.check()?;
                Figures::Rotating(times)
            }
            Some(Profile::Volume(mut times)) => {
                VolumeTable::parse(table)?.lay_over(&mut times);
                times.check()?;
                Figures::Volume(times)
            }
            None => unreachable!("profiles are known by their names"),
        };
        if !matches!(figures, Figures::Flash(..)) && drive.kind() == Kind::Compressing {
            let those = if matches!(figures, Figures::Volume(_)) { "volumes" } else { "disks" };
            let message = format!("timing {profile} cannot be asked of a compressing drive: {those} do not compress");
            return Err(Refused::new(message, "give it to a page-mapped one, ssd"));
        }
        Ok(Self { profile, figures })
    }

    /// The device at its time 0, with so many blocks.
    pub fn device(&self, blocks: u32) -> Result<Box<dyn Device>, FlashError> {
        Ok(match self.figures {
            Figures::Flash(service, geometry) => Box::new(FlashDevice::new(geometry, service)?),
            Figures::Rotating(times) => Box::new(RotatingDisk::new(times, blocks)?),
            Figures::Volume(times) => Box::new(Volume::new(times)?),
        })
    }

    /// What operations take on flash; `None` of a disk or volume.
    pub fn service(&self) -> Option<ServiceTimes> {
        match self.figures {
            Figures::Flash(service, _) => Some(service),
            Figures::Rotating(_) | Figures::Volume(_) => None,
        }
    }
}

impl Figures {
    fn flash(found: FlashProfile, table: &TimingTable, drive: &mut FlashTable) -> Result<Self, Refused> {
        let mut found = found.scaled(drive.capacity_bytes().unwrap_or(u64::MAX));
        if drive.has_shape() {
            found.geometry = drive.geometry()?;
            found.service.erase_every = 1;
            let pages = found.geometry.flash_pages_per_block;
            found.service.pages_per_program = found.service.pages_per_program.min(pages);
        } else {
            drive.set_shape(&found.geometry);
        }
        if drive.kind() != Kind::Compressing {
            (found.service.compression_bytes_per_second, found.service.decompression_bytes_per_second) = (0, 0);
        }
        if let Some(bytes_per_second) = drive.throttled_bytes_per_second {
            found.service.throttled_bytes_per_second = bytes_per_second;
        }
        table.lay_over(&mut found.service);
        found.service.check(&found.geometry)?;
        Ok(Self::Flash(found.service, found.geometry))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Figures, FlashTable, Timing};
    use crate::{Configuration, Description};

    fn parse(timing: Value, drive: Value) -> Result<(Timing, FlashTable), String> {
        let document = json!({"drive": drive, "timing": timing});
        let found = Description::parse(document.as_object().unwrap()).map_err(|error| error.to_string())?;
        let mut drive = found.with_capacity(1 << 30).drive;
        let timing = Timing::resolve(&found.timing.unwrap(), &mut drive).map_err(|error| error.to_string())?;
        Ok((timing, drive))
    }

    #[test]
    fn a_profile_brings_its_shape() {
        let (timing, flash) = parse(json!({"profile": "tlc-nvme"}), json!({})).unwrap();
        assert_eq!((flash.channels, flash.dies_per_channel, flash.flash_pages_per_block), (Some(8), Some(4), Some(3)));
        let Figures::Flash(service, geometry) = timing.figures else { panic!("a disk") };
        assert_eq!((service.erase_every, geometry.flash_pages_per_block), (512, 3));
        assert_eq!(service.compression_bytes_per_second, 0, "this drive does not compress");
        assert!(matches!(flash.configuration(), Ok(Configuration::PageMapped(_))));

        let (timing, flash) = parse(json!({}), json!({"pages_per_block": 512, "kind": "compressing"})).unwrap();
        assert_eq!((flash.channels, flash.pages_per_block), (None, Some(512)), "a described shape stays");
        assert_eq!(timing.profile, "tlc-nvme");
        assert!(timing.service().is_some_and(|service| service.compression_bytes_per_second > 0));
        assert!(timing.device(100).is_ok());
    }

    #[test]
    fn single_figures_are_laid_over() {
        let keys = json!({"profile": "sata-ssd", "read_ns": 7, "gc_pacing": "burst", "power_loss_protection": true});
        let service = parse(keys, json!({})).unwrap().0.service().unwrap();
        assert_eq!((service.read_ns, service.power_loss_protection), (7, true));
        let (timing, _) = parse(json!({"profile": "hdd-7200", "write_cache": false}), json!({})).unwrap();
        assert!(matches!(timing.figures, Figures::Rotating(times) if !times.write_cache));
        let keys = json!({"profile": "volume-3000-iops-burst", "iops": 500, "burst_ios": 60_000, "io_bytes": "16kB"});
        let Figures::Volume(times) = parse(keys, json!({})).unwrap().0.figures else { panic!("no volume") };
        assert_eq!((times.iops, times.burst_iops, times.burst_ios, times.io_bytes), (500, 3000, 60_000, 16 << 10));
        let service = parse(json!({"write_buffer_bytes": "8MB"}), json!({})).unwrap().0.service().unwrap();
        assert_eq!(service.write_buffer_bytes, 8 << 20);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let compressing = json!({"kind": "compressing"});
        let wrong = [
            (json!({"profile": "floppy"}), json!({}), "floppy"),
            (json!({"profile": 3}), json!({}), "invalid timing profile 3: must be one of tlc-nvme"),
            (json!({"read_ns": -1}), json!({}), "-1"),
            (json!({"read_ns": 1.5}), json!({}), "1.5"),
            (json!({"read_ns": 10_u64.pow(18)}), json!({}), "to 1000000000000"),
            (json!({"seek_ns": 1}), json!({}), "timing has no key seek_ns"),
            (json!({"write_buffer_bytes": 4096}), json!({}), "write buffer bytes"),
            (json!({"profile": "hdd-7200", "read_ns": 1}), json!({}), "read_ns"),
            (json!({"profile": "hdd-7200", "stroke_share": -0.5}), json!({}), "stroke share"),
            (json!({"profile": "hdd-7200"}), compressing.clone(), "disks do not compress"),
            (json!({"profile": "volume-3000-iops"}), compressing, "volumes do not compress"),
            (json!({"profile": "volume-3000-iops", "iops": 0}), json!({}), "invalid iops 0: must be greater than 0"),
            (json!({"profile": "volume-3000-iops", "bytes_per_second": 0}), json!({}), "bytes per second 0"),
            (json!({"profile": "volume-3000-iops", "burst_ios": 9}), json!({}), "burst iops 3000: must be above iops"),
            (json!({"profile": "volume-3000-iops", "tail_ns": 9}), json!({}), "tail ns 9"),
            (json!({"profile": "volume-3000-iops", "read_ns": 1}), json!({}), "read_ns"),
            (json!({"profile": "sata-ssd", "iops": 1}), json!({}), "timing has no key iops"),
            (json!([]), json!({}), "\"timing\" must be a table"),
            (json!("tlc-nvme"), json!({}), "\"timing\" must be a table"),
        ];
        for (timing, drive, named) in wrong {
            let message = parse(timing.clone(), drive).unwrap_err();
            assert!(message.contains(named), "{timing}: {message}");
        }
    }
}
