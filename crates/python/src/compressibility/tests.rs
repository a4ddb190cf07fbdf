//! Sums of blocks against the codec itself, and rows that come through a refill whole, at the share asked for.

use std::fs;
use std::path::PathBuf;

use codec::{BLOCK_BYTES, Codec, Compressor};
use proptest::collection::vec;
use proptest::prelude::*;

use super::chunk::Chunk;
use super::heap_page::{LINE_POINTER_BYTES, PAGE_HEADER_BYTES, living_rows};
use super::relations::{Relaid, relay};
use super::scan::scan;
use super::tally::{Method, Tally};

const PAGE: usize = 8192;
const FROZEN: u16 = 0x0b00;
const DELETED: u16 = 0x0500;

/// A row of `bytes` with the header's infomask.
fn row(bytes: usize, infomask: u16, fill: u8) -> Vec<u8> {
    let mut row = vec![fill; bytes];
    row[20..22].copy_from_slice(&infomask.to_ne_bytes());
    row
}

/// A heap page with as many of the rows as fit, and how many those are.
fn heap_page(rows: &[Vec<u8>]) -> (Vec<u8>, usize) {
    let mut page = vec![0; PAGE];
    let (mut lower, mut upper, mut placed) = (PAGE_HEADER_BYTES, PAGE, 0);
    for row in rows {
        let aligned = row.len().next_multiple_of(8);
        if upper - lower < aligned + LINE_POINTER_BYTES {
            break;
        }
        upper -= aligned;
        page[upper..upper + row.len()].copy_from_slice(row);
        let pointer = upper as u32 | 1 << 15 | (row.len() as u32) << 17;
        page[lower..lower + 4].copy_from_slice(&pointer.to_ne_bytes());
        lower += 4;
        placed += 1;
    }
    page[12..14].copy_from_slice(&(lower as u16).to_ne_bytes());
    page[14..16].copy_from_slice(&(upper as u16).to_ne_bytes());
    page[16..18].copy_from_slice(&(PAGE as u16).to_ne_bytes());
    (page, placed)
}

fn packed() -> Method {
    Method {
        codecs: vec![Codec::None, Codec::Zstd(1)],
        granularities: vec![1, 512],
    }
}

/// A file of this test's own that is gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("pgassay-{}-{name}", std::process::id()));
        fs::write(&path, bytes).expect("the temporary directory can be written");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

fn relaid(name: &str, pages: &[u8], fillfactors: &[usize]) -> Relaid {
    let file = Scratch::new(name, pages);
    let chunks = vec![vec![Chunk {
        file: 0,
        offset: 0,
        bytes: pages.len(),
    }]];
    let mut all = relay(
        std::slice::from_ref(&file.0),
        &chunks,
        PAGE,
        fillfactors,
        &packed(),
        2,
    )
    .expect("the file is there");
    all.remove(0)
}

#[test]
fn blocks_are_summed_and_rounded_as_the_codec_says() {
    let bytes: Vec<u8> = (0..3 * BLOCK_BYTES as u32 + 100)
        .map(|i| (i.wrapping_mul(i) >> 9) as u8)
        .collect();
    let file = Scratch::new("blocks", &bytes);
    let gone = file.0.with_extension("gone");
    let chunk = |file, offset, bytes| Chunk {
        file,
        offset,
        bytes,
    };
    let chunks = [
        chunk(0, 0, 2 * BLOCK_BYTES),
        chunk(0, 2 * BLOCK_BYTES as u64, 1 << 20),
        chunk(1, 0, BLOCK_BYTES),
    ];
    let tallies = scan(&[file.0.clone(), gone], &chunks, &packed(), 3)
        .expect("a file that is gone is no error");
    let mut compressor = Compressor::new(Codec::Zstd(1));
    let mut sizes: Vec<u64> = bytes
        .chunks_exact(BLOCK_BYTES)
        .map(|b| compressor.stored_bytes(b) as u64)
        .collect();
    let mut last = bytes[3 * BLOCK_BYTES..].to_vec();
    last.resize(BLOCK_BYTES, 0);
    sizes.push(compressor.stored_bytes(&last) as u64);
    for (tally, sizes) in tallies.iter().zip([&sizes[..2], &sizes[2..]]) {
        let rounded: u64 = sizes.iter().map(|size| size.next_multiple_of(512)).sum();
        let block = 2 * BLOCK_BYTES as u64;
        assert_eq!(
            tally.stored_bytes,
            [block, block, sizes.iter().sum(), rounded]
        );
        assert_eq!((tally.blocks, tally.zero_blocks), (2, 0));
    }
    assert_eq!(
        tallies[2],
        Tally {
            blocks: 0,
            zero_blocks: 0,
            stored_bytes: vec![0; 4]
        }
    );
}

#[test]
fn a_file_that_may_not_be_read_is_an_error_with_its_name() {
    let folder = std::env::temp_dir();
    let error = scan(
        std::slice::from_ref(&folder),
        &[Chunk {
            file: 0,
            offset: 0,
            bytes: 10,
        }],
        &packed(),
        1,
    )
    .unwrap_err();
    assert_eq!(error.path, folder);
}

#[test]
fn a_fillfactor_keeps_its_share_free() {
    // 68 rows of 120 bytes with their line pointers fill a page but for 24 bytes less than a row; 75 % leave 2048.
    let rows: Vec<_> = (0..65).map(|i| row(120, FROZEN, i)).collect();
    let pages: Vec<u8> = (0..200).flat_map(|_| heap_page(&rows).0).collect();
    let relaid = relaid("share", &pages, &[100, 75, 10]);
    assert_eq!((relaid.source_pages, relaid.rows), (200, 200 * 65));
    let per_page: Vec<u64> = relaid
        .filled
        .iter()
        .map(|filled| filled.rows / filled.pages)
        .collect();
    assert_eq!(
        per_page,
        [
            (PAGE as u64 - 24) / 124,
            (PAGE as u64 - 24 - 2048) / 124,
            (PAGE as u64 - 24 - 7372) / 124
        ]
    );
    // What is kept free compresses to next to nothing: the rows cost nearly the same.
    let stored =
        |at: usize| relaid.filled[at].tally.stored_bytes[2] as f64 / relaid.filled[at].rows as f64;
    assert!(
        stored(1) / stored(0) < 1.25,
        "{} against {}",
        stored(1),
        stored(0)
    );
}

#[test]
fn the_dead_and_what_is_no_heap_page_are_left_out() {
    let (page, placed) = heap_page(&[
        row(40, FROZEN, 1),
        row(40, DELETED, 2),
        row(40, 0x0200, 3),
        row(40, 0x0580, 4),
    ]);
    assert_eq!(placed, 4);
    let fills: Vec<u8> = living_rows(&page).map(|row| row[0]).collect();
    assert_eq!(fills, [1, 4], "frozen, and deleted by a locker only");
    assert_eq!(living_rows(&vec![0; PAGE]).count(), 0);
    let mut index = page.clone();
    index[16..18].copy_from_slice(&(PAGE as u16 - 16).to_ne_bytes());
    assert_eq!(living_rows(&index).count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_row_is_lost_or_counted_twice(lengths in vec(24_usize..2000, 200..400), fillfactor in 10_usize..=100) {
        let rows: Vec<_> = lengths.iter().map(|bytes| row(*bytes, FROZEN, 7)).collect();
        let (mut pages, mut next) = (Vec::new(), 0);
        while next < rows.len() {
            let (page, placed) = heap_page(&rows[next..]);
            pages.extend(page);
            next += placed;
        }
        let relaid = relaid("lost", &pages, &[fillfactor]);
        let filled = &relaid.filled[0];
        prop_assert_eq!(relaid.rows, rows.len() as u64);
        // Only the last page, which is not full, is left out.
        prop_assert!(filled.rows < relaid.rows && relaid.rows - filled.rows <= PAGE as u64 / 28);
        prop_assert_eq!(filled.tally.blocks, filled.pages * 2);
        let all: usize = lengths.iter().map(|bytes| bytes.next_multiple_of(8) + 4).sum();
        prop_assert!((filled.pages as usize) * (PAGE - 24) + PAGE >= all);
    }

    #[test]
    fn junk_is_read_without_harm(page in vec(any::<u8>(), PAGE), heap in any::<bool>()) {
        let mut page = page;
        if heap {
            page[12..14].copy_from_slice(&2000_u16.to_ne_bytes());
            page[16..18].copy_from_slice(&(PAGE as u16).to_ne_bytes());
        }
        let relaid = relaid("junk", &page, &[75]);
        prop_assert_eq!(relaid.source_pages, 1);
    }
}
