//! The kinds of drives behind one name, since Python knows no generics.

use flash::pools::Pools;
use flash::timing::OperationLog;
use flash::{Capacity, Compressing, PageMapped, Policy, Streams};

use super::ageing::Packing;

/// A drive of any kind. Pools are not watched, and so have no timing.
#[allow(clippy::large_enum_variant)] // Few are made, and each owns gigabytes.
pub enum Model {
    /// A normal SSD.
    PageMapped(PageMapped<OperationLog>),
    /// One that compresses.
    Compressing(Compressing<OperationLog>),
    /// Normal SSDs side by side.
    Pools(Pools<PageMapped>),
}

/// Evaluates an expression with the drive, whatever its kind.
macro_rules! with_drive {
    ($model:expr, $drive:ident => $body:expr) => {
        match $model {
            $crate::flash::model::Model::PageMapped($drive) => $body,
            $crate::flash::model::Model::Compressing($drive) => $body,
            $crate::flash::model::Model::Pools($drive) => $body,
        }
    };
}
pub(super) use with_drive;

impl Model {
    /// Capacities: one, or one a pool.
    pub fn capacities(&self) -> Vec<Capacity> {
        match self {
            Self::PageMapped(drive) => vec![drive.config().capacity],
            Self::Compressing(drive) => vec![drive.config().capacity],
            Self::Pools(pools) => pools
                .drives()
                .iter()
                .map(|drive| drive.config().capacity)
                .collect(),
        }
    }

    /// The policy of garbage collection; pools share it.
    pub fn policy(&self) -> Policy {
        match self {
            Self::PageMapped(drive) => drive.config().policy,
            Self::Compressing(drive) => drive.config().policy,
            Self::Pools(pools) => pools.drives()[0].config().policy,
        }
    }

    /// Who writes into which open block; pools share it.
    pub fn streams(&self) -> Streams {
        match self {
            Self::PageMapped(drive) => drive.config().streams,
            Self::Compressing(drive) => drive.config().streams,
            Self::Pools(pools) => pools.drives()[0].config().streams,
        }
    }

    /// What a block takes on flash.
    pub fn packing(&self) -> Packing {
        let Self::Compressing(drive) = self else {
            return Packing::Pages;
        };
        let config = drive.config();
        let flash_page = config.capacity.geometry().flash_page_bytes;
        Packing::Extents {
            granularity: config.granularity,
            within: (!config.straddling).then_some(flash_page),
        }
    }

    /// Bytes of all flash: data, reserve and open blocks.
    pub fn physical_bytes(&self) -> u64 {
        let streams = self.streams();
        let bytes = |capacity: &Capacity| {
            u64::from(capacity.total_blocks(streams)) * capacity.geometry().superblock_bytes()
        };
        self.capacities().iter().map(bytes).sum()
    }

    /// Bytes that over-provisioning refers to.
    pub fn user_bytes(&self) -> u64 {
        let bytes =
            |capacity: &Capacity| u64::from(capacity.user_blocks()) * u64::from(flash::BLOCK_BYTES);
        self.capacities().iter().map(bytes).sum()
    }
}
