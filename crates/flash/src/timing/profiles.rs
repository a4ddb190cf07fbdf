//! Devices by name, for those who do not want to describe one.
//!
//! Their figures are engineering values for a class of device, inside the ranges that open simulators have fitted to
//! real drives; none is a product's. The caps of volumes are those that a cloud's documentation states: Amazon EBS,
//! "Amazon EBS General Purpose SSD volumes", of gp3 (3,000 IOPS and 125 MiB/s, up to 16,000 and 1,000 MiB/s) and of gp2
//! (3 IOPS for each GiB, bursts of 3,000 while 5.4 million credits last, 128 MiB/s up to 170 GiB). It states latencies
//! as "single-digit milliseconds" only.

use super::rotating::DiskTimes;
use super::service::ServiceTimes;
use super::volume::VolumeTimes;
use crate::geometry::Geometry;

/// Flash pages that a block of a plane has in a large drive: what an erase of the flash is charged for.
const REAL_PAGES_PER_BLOCK: u32 = 1536;

/// Superblocks that a scaled drive should have at least, so that collecting garbage has a choice.
const LEAST_SUPERBLOCKS: u64 = 256;

/// A device by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Profile {
    /// A flash drive.
    Flash(FlashProfile),
    /// A disk.
    Rotating(DiskTimes),
    /// A cloud's volume.
    Volume(VolumeTimes),
}

/// A flash drive's times and the shape of its flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlashProfile {
    /// What operations take.
    pub service: ServiceTimes,
    /// Channels, dies, planes, flash pages; as many of these a block as a large drive has.
    pub geometry: Geometry,
}

/// All names.
pub const NAMES: [&str; 6] =
    ["tlc-nvme", "sata-ssd", "hdd-7200", "volume-3000-iops", "volume-3000-iops-burst", "volume-16000-iops"];

impl Profile {
    /// The device of a name; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "tlc-nvme" => Some(Self::Flash(tlc_nvme())),
            "sata-ssd" => Some(Self::Flash(sata_ssd())),
            "hdd-7200" => Some(Self::Rotating(DiskTimes::default())),
            "volume-3000-iops" => Some(Self::Volume(VolumeTimes::default())),
            "volume-3000-iops-burst" => Some(Self::Volume(burst_volume())),
            "volume-16000-iops" => {
                Some(Self::Volume(VolumeTimes { iops: 16_000, bytes_per_second: 1000 << 20, ..VolumeTimes::default() }))
            }
            _ => None,
        }
    }
}

/// A data-centre drive on four lanes of PCIe 4 with three-bit cells: its write buffer survives a loss of power.
fn tlc_nvme() -> FlashProfile {
    FlashProfile {
        service: ServiceTimes {
            link_bytes_per_second: 7_000_000_000,
            compression_bytes_per_second: 4_000_000_000,
            decompression_bytes_per_second: 4_000_000_000,
            ..ServiceTimes::default()
        },
        geometry: shape(8, 4),
    }
}

/// A desktop's drive on SATA: fewer dies, slower channels, and a write buffer that a flush has to empty.
fn sata_ssd() -> FlashProfile {
    FlashProfile {
        service: ServiceTimes {
            channel_bytes_per_second: 400_000_000,
            controller_ns: 30_000,
            write_buffer_bytes: 16 << 20,
            link_bytes_per_second: 550_000_000,
            compression_bytes_per_second: 1_000_000_000,
            decompression_bytes_per_second: 1_000_000_000,
            power_loss_protection: false,
            ..ServiceTimes::default()
        },
        geometry: shape(4, 2),
    }
}

/// A volume of 100 GiB that has saved all the credits that it can.
fn burst_volume() -> VolumeTimes {
    VolumeTimes { iops: 300, burst_ios: 5_400_000, bytes_per_second: 128 << 20, ..VolumeTimes::default() }
}

fn shape(channels: u32, dies_per_channel: u32) -> Geometry {
    Geometry {
        channels,
        dies_per_channel,
        planes_per_die: 2,
        flash_pages_per_block: REAL_PAGES_PER_BLOCK,
        flash_page_bytes: 16384,
    }
}

impl FlashProfile {
    /// The same device with little flash: as many dies, since they are what makes its speed, but its blocks cut into
    /// slices, so that there are enough superblocks to choose from. The flash is erased once for all slices of a block.
    pub fn scaled(mut self, capacity_bytes: u64) -> Self {
        let program = self.service.pages_per_program;
        let page_row_bytes = self.geometry.superblock_bytes() / u64::from(self.geometry.flash_pages_per_block);
        let wanted = capacity_bytes / LEAST_SUPERBLOCKS / page_row_bytes / u64::from(program) * u64::from(program);
        // Slices must be of equal size, so the pages of one are a divisor of a block's.
        let whole = self.geometry.flash_pages_per_block;
        let pages = (1..=whole / program).map(|count| count * program).filter(|pages| whole % pages == 0);
        let slice = pages.take_while(|&pages| u64::from(pages) <= wanted.max(program.into())).last().unwrap_or(whole);
        self.service.erase_every = whole / slice;
        self.geometry.flash_pages_per_block = slice;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{FlashProfile, NAMES, Profile};

    fn flash(name: &str) -> FlashProfile {
        match Profile::named(name) {
            Some(Profile::Flash(found)) => found,
            other => panic!("{name} is {other:?}"),
        }
    }

    #[test]
    fn each_name_is_a_device_that_can_be() {
        for name in NAMES {
            match Profile::named(name).unwrap() {
                Profile::Flash(found) => found.service.check(&found.geometry).unwrap(),
                Profile::Rotating(times) => times.check().unwrap(),
                Profile::Volume(times) => times.check().unwrap(),
            }
        }
        assert_eq!(Profile::named("floppy"), None);
    }

    #[test]
    fn a_small_drive_has_as_many_dies_and_erases_as_much_in_all() {
        for (name, capacity_bytes) in [("tlc-nvme", 1_u64 << 30), ("sata-ssd", 1 << 30), ("tlc-nvme", 64 << 30)] {
            let (whole, small) = (flash(name), flash(name).scaled(capacity_bytes));
            assert_eq!(
                (small.geometry.channels, small.geometry.dies_per_channel),
                (whole.geometry.channels, whole.geometry.dies_per_channel)
            );
            let erased = small.service.erase_every * small.geometry.flash_pages_per_block;
            assert_eq!(erased, whole.geometry.flash_pages_per_block);
            assert_eq!(small.geometry.flash_pages_per_block % small.service.pages_per_program, 0);
            small.service.check(&small.geometry).unwrap();
            let superblocks = capacity_bytes / small.geometry.superblock_bytes();
            assert!(superblocks >= 256, "{name}: {superblocks}");
        }
        assert_eq!(flash("tlc-nvme").scaled(1 << 50), flash("tlc-nvme"), "a large one is what it is");
    }
}
