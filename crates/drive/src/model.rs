//! The kinds of modelled drives behind one name.

use flash::compressing::SpaceState;
use flash::timing::OperationLog;
use flash::{Capacity, Compressing, Drive, FlashError, Geometry, PageMapped, Policy, Streams};

/// A drive of either kind. Cloned with all its state, which is what a snapshot keeps.
#[derive(Clone)]
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

    /// Bytes of memory that the model's tables take, for what a snapshot will need.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Self::PageMapped(drive) => {
                let pages = u64::from(drive.config().capacity.total_blocks(self.streams()))
                    * u64::from(self.geometry().pages_per_block());
                4 * u64::from(drive.logical_blocks()) + 4 * pages
            }
            Self::Compressing(drive) => 8 * u64::from(drive.logical_blocks()) + 6 * drive.extents(),
        }
    }
}
