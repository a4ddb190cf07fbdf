//! Writes from arrays that carry placement handles.

use flash::{BLOCK_BYTES, Drive, FlashError};

/// Writes blocks in order, each with its handle; `sizes` is empty or has one for each. The writes before an error are
/// done.
pub fn write<D: Drive>(
    drive: &mut D,
    lbas: &[u32],
    sizes: &[u16],
    handles: &[u8],
) -> Result<(), FlashError> {
    if handles.len() != lbas.len() {
        let reason = format!("must be {}, one for each block", lbas.len());
        let given = handles.len();
        return Err(FlashError::invalid(
            "number of placement handles",
            given,
            reason,
        ));
    }
    if !sizes.is_empty() && sizes.len() != lbas.len() {
        return Err(FlashError::BatchLength {
            lbas: lbas.len(),
            sizes: sizes.len(),
        });
    }
    for (number, (&lba, &handle)) in lbas.iter().zip(handles).enumerate() {
        let bytes = sizes
            .get(number)
            .map_or(BLOCK_BYTES, |&bytes| u32::from(bytes));
        drive.write_placed(lba, bytes, handle)?;
    }
    Ok(())
}
