//! Every codec gives back what it took, never stores more than the block, and refuses what it has not written.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::{BLOCK_BYTES, Codec, Compressor, DamagedBlock, Decompressor, UnknownCodec, is_zeros};

const CODECS: [Codec; 6] =
    [Codec::None, Codec::Lz4, Codec::Deflate(1), Codec::Deflate(6), Codec::Zstd(1), Codec::Zstd(3)];

/// Rows of digits, as a benchmark's filler column: half of it is entropy.
fn digits() -> Vec<u8> {
    let mut state = 7_u32;
    let mut digit = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'0' + (state >> 16) as u8 % 10
    };
    (0..BLOCK_BYTES).map(|_| digit()).collect()
}

/// Bytes that no codec shrinks.
fn noise() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..BLOCK_BYTES).map(|_| byte()).collect()
}

#[test]
fn names_are_read_as_they_are_written() {
    for codec in CODECS {
        assert_eq!(codec.to_string().parse(), Ok(codec));
    }
    assert_eq!(Codec::default().to_string(), "zstd-1");
}

#[test]
fn other_names_are_refused() {
    for name in ["", "zstd", "zstd-0", "zstd-20", "deflate-13", "deflate", "lz4-1", "none-1", "zstd-x", "ZSTD-1", "-1"]
    {
        assert_eq!(name.parse::<Codec>(), Err(UnknownCodec(name.to_owned())), "{name}");
    }
}

#[test]
fn zeros_are_stored_as_nothing_and_noise_as_it_is() {
    let (zeros, noise) = (vec![0; BLOCK_BYTES], noise());
    for codec in CODECS {
        let mut compressor = Compressor::new(codec);
        assert_eq!(compressor.stored_bytes(&zeros), 0, "{codec}");
        assert!(compressor.compress(&zeros).is_empty(), "{codec}");
        assert_eq!(compressor.compress(&noise), noise, "{codec}");
        assert_eq!(compressor.stored_bytes(&noise), BLOCK_BYTES, "{codec}");
    }
}

#[test]
fn one_byte_anywhere_makes_a_block_other_than_zeros() {
    for place in [0, 1, 63, 64, 4000, BLOCK_BYTES - 1] {
        let mut block = vec![0; BLOCK_BYTES];
        block[place] = 1;
        assert!(!is_zeros(&block), "{place}");
    }
}

#[test]
fn entropy_coders_find_in_digits_what_lz4_does_not() {
    let digits = digits();
    let stored = |codec| Compressor::new(codec).stored_bytes(&digits);
    // Ten equally likely digits hold 3.32 bits each: 1701 bytes a block.
    assert!((1701..1900).contains(&stored(Codec::Zstd(1))), "{}", stored(Codec::Zstd(1)));
    assert!((1701..2000).contains(&stored(Codec::Deflate(6))), "{}", stored(Codec::Deflate(6)));
    assert!(stored(Codec::Lz4) > 3000, "{}", stored(Codec::Lz4));
    assert_eq!(stored(Codec::None), BLOCK_BYTES);
}

#[test]
fn damage_is_refused_with_what_was_found() {
    let digits = digits();
    let mut block = vec![0; BLOCK_BYTES];
    for codec in CODECS {
        let stored = Compressor::new(codec).compress(&digits).to_vec();
        let mut decompressor = Decompressor::new(codec);
        if codec != Codec::None {
            // A block's end cut off, and a block that is longer than the room for it.
            let cut = decompressor.decompress(&stored[..stored.len() / 2], &mut block);
            let stored_bytes = stored.len() / 2;
            assert_eq!(cut, Err(DamagedBlock { codec, stored_bytes, block_bytes: BLOCK_BYTES }));
            assert!(decompressor.decompress(&stored, &mut [0; 100]).is_err());
        }
        assert!(decompressor.decompress(&[0xff; 40], &mut block).is_err(), "{codec}");
        // A failure does not affect what comes after it.
        assert_eq!(decompressor.decompress(&stored, &mut block), Ok(()));
        assert_eq!(block, digits, "{codec}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_goes_in_comes_out(
        words in vec(vec(any::<u8>(), 1..40), 1..6),
        order in vec(any::<prop::sample::Index>(), 1..400),
        length in 1_usize..=2 * BLOCK_BYTES,
    ) {
        let mut block: Vec<u8> = order.iter().flat_map(|index| index.get(&words).clone()).collect();
        block.resize(length, 0);
        for codec in CODECS {
            let mut compressor = Compressor::new(codec);
            let stored = compressor.compress(&block).to_vec();
            prop_assert!(stored.len() <= block.len());
            prop_assert_eq!(compressor.stored_bytes(&block), stored.len());
            let mut again = vec![1; length];
            prop_assert_eq!(Decompressor::new(codec).decompress(&stored, &mut again), Ok(()));
            prop_assert_eq!(&again, &block);
        }
    }

    #[test]
    fn what_no_codec_wrote_harms_nothing(stored in vec(any::<u8>(), 1..200), flip in any::<prop::sample::Index>()) {
        for codec in CODECS {
            let mut block = vec![0; BLOCK_BYTES];
            let _ = Decompressor::new(codec).decompress(&stored, &mut block);
            let mut damaged = Compressor::new(codec).compress(&digits()).to_vec();
            let place = flip.index(damaged.len());
            damaged[place] ^= stored[0];
            let _ = Decompressor::new(codec).decompress(&damaged, &mut block);
        }
    }
}
