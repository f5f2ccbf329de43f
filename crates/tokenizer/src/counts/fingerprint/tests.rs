//! Tests of fingerprints.

use super::*;

mod quality;
use proptest::prelude::*;

/// The hash must never change: models store fingerprints.
#[test]
fn is_fixed() {
    let text = "The 17 bytes here";
    let known: [u64; 18] = [
        0x144c_a8fe_44e0_74dc,
        0x74bb_e52d_58ce_82ba,
        0x8f77_ac58_e2cb_2739,
        0x4533_e3c8_688b_df19,
        0x42ba_0f95_01c3_b7bb,
        0x9991_d70f_72d7_4280,
        0xcc90_b226_1522_0c4e,
        0x3252_55d0_d325_f741,
        0x035d_5827_747c_4bdf,
        0x0545_9d36_6323_dc32,
        0xc4f8_30a0_de23_c40e,
        0x1a58_6874_8818_7a64,
        0x9b01_6094_d815_d1ac,
        0xb554_5c19_878d_70bd,
        0x5cff_86d7_df07_285f,
        0x0d42_e6de_d20f_6dd4,
        0xac06_3fe7_2e5a_8841,
        0x39ea_97a8_b41e_092f,
    ];
    for (length, known) in known.into_iter().enumerate() {
        assert_eq!(fingerprint(&text[..length]), known, "{:?}", &text[..length]);
    }
    let known: [(&str, u64); 10] = [
        ("\0", 0x4594_02b8_c811_a8d5),
        ("\0\0", 0xf5fb_f761_5d81_0ccd),
        ("é", 0x68f1_75b3_4bb3_ecb2),
        ("чай", 0x37e6_88e4_90ef_d848),
        ("中文", 0x3af7_9e28_5ebd_585a),
        ("电子邮件", 0xd164_2db5_6881_5532),
        ("subject:виагра", 0xc051_057b_9b4f_9f2c),
        ("0000000000000000", 0xcdb5_1bc6_ae2a_b4f5),
        ("internationalisation", 0xc3ae_0482_870c_03be),
        ("http://example.org/a/path/of/some/length?and=a&query=as&well#below", 0x719c_c037_3bcc_8b1e),
    ];
    for (term, known) in known {
        assert_eq!(fingerprint(term), known, "{term:?}");
    }
}

#[test]
fn no_factor_is_zero() {
    for constant in [FIRST, SECOND] {
        assert_eq!(constant >> 56, 0xff, "expected a byte that occurs in no UTF-8, got {constant:x}");
    }
}

proptest! {
    #[test]
    fn zeros_follow_the_bytes(bytes in prop::collection::vec(any::<u8>(), 0..=SHORT)) {
        let mut longest = [0; SHORT];
        longest[..bytes.len()].copy_from_slice(&bytes);
        prop_assert_eq!(padded(&bytes), u128::from_le_bytes(longest));
    }

    #[test]
    fn is_the_same_in_batches(text in "[ -~é中]{1,80}", lengths in prop::collection::vec(1..20_usize, 1..40)) {
        let ends: Vec<_> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let spans: Vec<_> = (0..ends.len())
            .zip(lengths)
            .map(|(start, length)| [ends[start], ends[(start + length).min(ends.len() - 1)]])
            .collect();
        let expected = spans.iter().map(|&[start, end]| fingerprint(&text[start..end]));
        let found = of_batch(Batch { bytes: text.as_bytes(), spans: &spans, are_signs: false });
        prop_assert!(found.eq(expected));
    }
}
