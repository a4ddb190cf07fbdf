//! Service times: what each operation of the flash takes.
//!
//! The defaults describe an enterprise drive with three-bit cells: between the values that open simulators have fitted
//! to real drives (reads 25 to 75 µs, programs 185 to 1914 µs, erases 2 to 5 ms), but no data sheet's.

use crate::error::FlashError;
use crate::geometry::Geometry;

/// How garbage collection is spread in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GcPacing {
    /// Evenly over the host writes for which it makes room, as good firmware does.
    #[default]
    Paced,
    /// All at once when a block is emptied.
    Burst,
}

/// What operations take, in virtual nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceTimes {
    /// Sensing a flash page.
    pub read_ns: u64,
    /// One program operation of a die, whatever it programs.
    pub program_ns: u64,
    /// Erasing one block in each plane of a die.
    pub erase_ns: u64,
    /// Speed of each channel.
    pub channel_bytes_per_second: u64,
    /// Flash pages of each plane that one operation programs: 3 for three-bit cells programmed in one shot.
    pub pages_per_program: u32,
    /// Host interface and controller, for each request.
    pub controller_ns: u64,
    /// Bytes (after compression) that the drive may have answered for but not yet programmed.
    pub write_buffer_bytes: u64,
    /// Bytes a second that a drive short of physical space still accepts.
    pub throttled_bytes_per_second: u64,
    /// Whether host reads overtake queued programs and garbage collection.
    pub reads_first: bool,
    /// How garbage collection is spread in time.
    pub gc_pacing: GcPacing,
    /// Speed of the host's link, for data both ways; 0 takes no time.
    pub link_bytes_per_second: u64,
    /// Speed of the engine that compresses what is written, in bytes before; 0 takes no time.
    pub compression_bytes_per_second: u64,
    /// Speed of the engine that decompresses what is read, in bytes after; 0 takes no time.
    pub decompression_bytes_per_second: u64,
    /// Whether the write buffer survives a loss of power; if not, a flush waits until it has been programmed.
    pub power_loss_protection: bool,
    /// Superblocks that are erased before the flash is, once for all of them: more than 1 where the model's superblocks
    /// are slices of the flash's, as in a small drive that stands for a large one.
    pub erase_every: u32,
}

impl Default for ServiceTimes {
    fn default() -> Self {
        Self {
            read_ns: 50_000,
            program_ns: 600_000,
            erase_ns: 5_000_000,
            channel_bytes_per_second: 1_200_000_000,
            pages_per_program: 3,
            controller_ns: 8_000,
            write_buffer_bytes: 32 << 20,
            throttled_bytes_per_second: 10_000_000,
            reads_first: true,
            gc_pacing: GcPacing::Paced,
            link_bytes_per_second: 0,
            compression_bytes_per_second: 0,
            decompression_bytes_per_second: 0,
            power_loss_protection: true,
            erase_every: 1,
        }
    }
}

impl ServiceTimes {
    /// Refuses times that cannot be, and a buffer that cannot hold what the dies gather of one open block before they
    /// program it.
    pub fn check(&self, geometry: &Geometry) -> Result<(), FlashError> {
        let positive = [
            ("channel bytes per second", self.channel_bytes_per_second),
            ("pages per program", self.pages_per_program.into()),
            ("throttled bytes per second", self.throttled_bytes_per_second),
            ("erase every", self.erase_every.into()),
        ];
        for (field, value) in positive {
            if value == 0 {
                return Err(FlashError::invalid(field, value, "must be greater than 0"));
            }
        }
        if self.pages_per_program > geometry.flash_pages_per_block {
            let reason = format!("a block of a plane has {} flash pages", geometry.flash_pages_per_block);
            return Err(FlashError::invalid("pages per program", self.pages_per_program, reason));
        }
        let gathered = u64::from(geometry.stripe_planes())
            * u64::from(self.pages_per_program)
            * u64::from(geometry.flash_page_bytes);
        if self.write_buffer_bytes < gathered {
            let reason = format!("must be at least {gathered} bytes, one program of every die");
            return Err(FlashError::invalid("write buffer bytes", self.write_buffer_bytes, reason));
        }
        Ok(())
    }

    /// Time to move bytes over a channel.
    pub fn transfer_ns(&self, bytes: u64) -> u64 {
        (bytes * 1_000_000_000).div_ceil(self.channel_bytes_per_second)
    }
}
