//! The kinds of modelled drives behind one name.

use description::{Configuration, FlashTable, Kind};
use flash::compressing::{PackedCompressing, SpaceState};
use flash::page_mapped::PackedPageMapped;
use flash::timing::OperationLog;
use flash::{Capacity, Compressing, Drive, FlashError, Geometry, PageMapped, Policy, Streams};

use crate::error::DriveError;

/// A drive of either kind.
#[allow(clippy::large_enum_variant)] // Few are made, and each owns megabytes.
pub enum Model {
    /// A normal SSD.
    PageMapped(PageMapped<OperationLog>),
    /// One that compresses.
    Compressing(Compressing<OperationLog>),
}

/// Evaluates an expression with the drive, whatever its kind.
#[macro_export]
macro_rules! with_drive {
    ($model:expr, $drive:ident => $body:expr) => {
        match $model {
            $crate::model::Model::PageMapped($drive) => $body,
            $crate::model::Model::Compressing($drive) => $body,
        }
    };
}

impl Model {
    /// A fresh drive as it is described.
    pub fn new(flash: &FlashTable) -> Result<Self, DriveError> {
        let log = OperationLog::default();
        Ok(match flash.configuration()? {
            Configuration::PageMapped(config) => Self::PageMapped(PageMapped::watched(config, log)?),
            Configuration::Compressing(config) => Self::Compressing(Compressing::watched(config, log)?),
            Configuration::Pools(_) => return Err(DriveError::refused("drive pools cannot be emulated", "")),
        })
    }

    /// The drive that a table in JSON describes, with what the host sees of it. For tests.
    #[doc(hidden)]
    pub fn described(json: &str, capacity_bytes: u64) -> Self {
        let mut flash = FlashTable::parse(&serde_json::from_str(json).unwrap()).unwrap();
        flash.seen_as(capacity_bytes);
        Self::new(&flash).unwrap()
    }

    /// What kind of drive it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::PageMapped(_) => Kind::PageMapped,
            Self::Compressing(_) => Kind::Compressing,
        }
    }

    /// The drive without its kind.
    pub fn drive(&self) -> &dyn Drive<Observer = OperationLog> {
        match self {
            Self::PageMapped(drive) => drive,
            Self::Compressing(drive) => drive,
        }
    }

    /// The drive without its kind, to be changed.
    pub fn drive_mut(&mut self) -> &mut dyn Drive<Observer = OperationLog> {
        match self {
            Self::PageMapped(drive) => drive,
            Self::Compressing(drive) => drive,
        }
    }

    /// Writes blocks in order; returns how many were written before the error, if there was one.
    pub fn write(&mut self, lbas: &[u32], sizes: &[u16]) -> (usize, Option<FlashError>) {
        let before = self.drive().counters().host_blocks_written();
        let outcome = with_drive!(self, drive => drive.write_batch(lbas, sizes));
        let written = (self.drive().counters().host_blocks_written() - before) as usize;
        (written, outcome.err())
    }

    /// How the drive stands with physical space.
    pub fn space_state(&self) -> SpaceState {
        match self {
            Self::PageMapped(_) => SpaceState::Normal,
            Self::Compressing(drive) => drive.space_state(),
        }
    }

    /// Bytes a second that a drive short of physical space still accepts.
    pub fn throttled_bytes_per_second(&self) -> u64 {
        match self {
            Self::PageMapped(_) => u64::MAX,
            Self::Compressing(drive) => drive.config().throttling.bytes_per_second,
        }
    }

    /// Blocks and user capacity.
    pub fn capacity(&self) -> Capacity {
        with_drive!(self, drive => drive.config().capacity)
    }

    /// The flash's shape.
    pub fn geometry(&self) -> Geometry {
        self.capacity().geometry()
    }

    /// Who writes into which open block.
    pub fn streams(&self) -> Streams {
        with_drive!(self, drive => drive.config().streams)
    }

    /// How garbage collection chooses.
    pub fn policy(&self) -> Policy {
        with_drive!(self, drive => drive.config().policy)
    }

    /// Bytes on flash of each logical block.
    pub fn sizes(&self) -> Vec<u16> {
        let drive = self.drive();
        (0..drive.logical_blocks()).map(|lba| drive.locate(lba).map_or(0, |place| place.bytes as u16)).collect()
    }

    /// Bytes of memory that the model's tables take.
    pub fn memory_bytes(&self) -> u64 {
        with_drive!(self, drive => drive.memory_bytes())
    }

    /// The present state in as little memory as it needs, which is what a snapshot keeps.
    pub fn pack(&self) -> PackedModel {
        match self {
            Self::PageMapped(drive) => PackedModel::PageMapped(drive.pack()),
            Self::Compressing(drive) => PackedModel::Compressing(drive.pack()),
        }
    }

    /// Goes back to a state of this drive.
    ///
    /// # Panics
    /// If it is that of another.
    pub fn unpack(&mut self, packed: &PackedModel) {
        match (self, packed) {
            (Self::PageMapped(drive), PackedModel::PageMapped(packed)) => drive.unpack(packed),
            (Self::Compressing(drive), PackedModel::Compressing(packed)) => drive.unpack(packed),
            _ => panic!("a packed state belongs to drives of one make"),
        }
    }
}

/// A state of a model.
pub enum PackedModel {
    /// Of a normal SSD.
    PageMapped(PackedPageMapped),
    /// Of one that compresses.
    Compressing(PackedCompressing),
}

impl PackedModel {
    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Self::PageMapped(packed) => packed.memory_bytes(),
            Self::Compressing(packed) => packed.memory_bytes(),
        }
    }

    /// Bytes on flash of each of so many logical blocks.
    pub fn sizes(&self, blocks: u32) -> Vec<u16> {
        let mut sizes = vec![0; blocks as usize];
        match self {
            Self::PageMapped(packed) => packed.visit(|lba| sizes[lba as usize] = flash::BLOCK_BYTES as u16),
            Self::Compressing(packed) => packed.visit(|lba, bytes| sizes[lba as usize] = bytes as u16),
        }
        sizes
    }
}
