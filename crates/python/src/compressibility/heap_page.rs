//! A heap page as PostgreSQL lays it out (manual, "Database Page Layout"), read without a server.
//!
//! Only the rows that are not known to be dead are of interest. What the hint bits of their headers do not tell counts
//! as living: a scan of files cannot ask which transactions have committed.

pub const PAGE_HEADER_BYTES: usize = 24;
pub const LINE_POINTER_BYTES: usize = 4;

const TUPLE_HEADER_BYTES: usize = 23;
const INFOMASK_AT: usize = 18 + 2;
const LINE_POINTER_NORMAL: u32 = 1;

const XMIN_COMMITTED: u16 = 0x0100;
const XMIN_INVALID: u16 = 0x0200;
const XMAX_COMMITTED: u16 = 0x0400;
const XMAX_IS_NO_DELETION: u16 = 0x0800 | 0x1000 | 0x0080;

fn u16_at(page: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([page[at], page[at + 1]])
}

/// The rows of a page, in the order of their line pointers; nothing if this is no heap page.
pub fn living_rows(page: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lower = usize::from(u16_at(page, 12));
    let special = usize::from(u16_at(page, 16));
    // Indexes keep something in their special space; a heap page has none, and a new page is all zeros.
    let is_heap = special == page.len() && (PAGE_HEADER_BYTES..=page.len()).contains(&lower);
    let pointers = if is_heap {
        &page[PAGE_HEADER_BYTES..lower]
    } else {
        &[]
    };
    pointers
        .chunks_exact(LINE_POINTER_BYTES)
        .filter_map(move |pointer| {
            let pointer = u32::from_ne_bytes(pointer.try_into().expect("four bytes"));
            let (at, bytes) = ((pointer & 0x7fff) as usize, (pointer >> 17) as usize);
            let is_row = (pointer >> 15) & 3 == LINE_POINTER_NORMAL && bytes >= TUPLE_HEADER_BYTES;
            let row = page.get(at..at + bytes).filter(|_| is_row)?;
            (!is_dead(u16_at(row, INFOMASK_AT))).then_some(row)
        })
}

/// Both bits of xmin together mean frozen.
fn is_dead(infomask: u16) -> bool {
    let never_inserted = infomask & (XMIN_COMMITTED | XMIN_INVALID) == XMIN_INVALID;
    let deleted = infomask & XMAX_COMMITTED != 0 && infomask & XMAX_IS_NO_DELETION == 0;
    never_inserted || deleted
}
