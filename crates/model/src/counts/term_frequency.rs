//! Term frequency: ln(1 + tf) in fixed point, so that sums are exact.

/// Units per factor of two.
const PER_DOUBLING: u32 = 1 << 4;

/// Occurrences beyond this tf do not count.
const MOST: u32 = u16::MAX as u32;

/// One [unit](tf_units) of ln(1 + tf), in nats.
pub(crate) const TF_UNIT: f64 = std::f64::consts::LN_2 / PER_DOUBLING as f64;

/// ln(1 + tf) in units of ln(2)/16, rounded, so that sums are exact: 16 for a term that occurs once. The rounding error
/// is at most 1.5 % (at tf 2); fitting and scoring both use this value, so they agree.
#[inline]
pub(crate) fn tf_units(tf: u32) -> u32 {
    READY.get(tf as usize).map_or_else(|| units(tf), |units| u32::from(*units))
}

/// [`tf_units`] in nats.
#[inline]
pub(crate) fn log_tf_units(tf: u32) -> f64 {
    f64::from(tf_units(tf)) * TF_UNIT
}

/// Precomputed units, enough for nearly all terms of a document.
const READY: [u16; 64] = {
    let mut ready = [0; 64];
    let mut tf = 0;
    while tf < ready.len() {
        ready[tf] = units(tf as u32) as u16;
        tf += 1;
    }
    ready
};

/// 16 log2(1 + tf), rounded. Computed bit by bit by squaring, so that all machines agree.
const fn units(tf: u32) -> u32 {
    let n = 1 + if tf < MOST { tf } else { MOST } as u64;
    let doublings = n.ilog2();
    // from 1 to below 2, in units of 2^-63
    let mut x = n << (63 - doublings);
    let mut half_units = doublings;
    let mut bit = 0;
    while bit < 5 {
        let square = (x as u128 * x as u128) >> 63;
        half_units = half_units << 1 | (square >> 64) as u32;
        x = if square >> 64 == 1 { (square >> 1) as u64 } else { square as u64 };
        bit += 1;
    }
    half_units.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_logarithms() {
        for tf in (0..3_000).chain([40_000, MOST - 1, MOST]) {
            let exact = 16.0 * f64::from(1 + tf).log2();
            assert_eq!(tf_units(tf), exact.round() as u32, "{tf}");
        }
        assert_eq!((tf_units(1), tf_units(3), tf_units(u32::MAX)), (16, 32, 256));
        assert!((log_tf_units(1) - 2f64.ln()).abs() < 1e-15);
    }
}
