//! Blocks are counted exactly, whichever way a drive is described.

use flash::streams::GcStream;
use flash::{Capacity, Geometry, OverProvisioning, Streams};

#[test]
fn the_two_conventions_name_the_same_drive() {
    let user = OverProvisioning::of_user(0.28).unwrap();
    let physical = OverProvisioning::spare_of_physical(0.21875).unwrap();
    assert!((user.ratio() - physical.ratio()).abs() < 1e-12);
    assert!((user.as_spare_of_physical() - 0.21875).abs() < 1e-12);
}

#[test]
fn reserve_and_open_blocks_come_on_top_of_the_data() {
    let seven = OverProvisioning::of_user(0.07).unwrap();
    let streams = Streams::new(2, GcStream::PerHandle).unwrap();
    let capacity = Capacity::of_user(Geometry::plain(256), 16 << 30, seven, 5).unwrap();
    assert_eq!((capacity.user_blocks(), capacity.data_blocks()), (4_194_304, 17_531));
    // Four streams: three are open while the fourth has just filled its block.
    assert_eq!(capacity.total_blocks(streams), 17_531 + 5 + 3);
    assert!((capacity.alpha() - 1.07).abs() < 1e-4);

    let back = Capacity::of_physical(Geometry::plain(256), 17_539, seven, 5, streams).unwrap();
    assert_eq!(back.data_blocks(), 17_531);
    assert!((back.alpha() - 1.07).abs() < 1e-6);
}

#[test]
fn a_superblock_spans_all_dies() {
    let geometry = Geometry {
        channels: 8,
        dies_per_channel: 4,
        planes_per_die: 2,
        flash_pages_per_block: 1536,
        flash_page_bytes: 16_384,
    };
    assert_eq!(geometry.superblock_bytes(), 1_610_612_736);
    let mut places = Vec::new();
    for stripe in 0..64 {
        let place = geometry.place(stripe * 16_384);
        assert_eq!(place.flash_page, 0);
        places.push((place.plane, place.die, place.channel));
    }
    assert!(places.is_sorted(), "channels first, then dies, then planes");
    places.dedup();
    assert_eq!(places.len(), 64);
    assert_eq!(geometry.place(64 * 16_384 + 5).flash_page, 1);
}
