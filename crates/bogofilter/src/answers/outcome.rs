//! bogofilter's verdict on a spamicity, which is a probability of spam.

/// The class of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Spam,
    Ham,
    Unsure,
}

impl Outcome {
    /// Spam from the upper cutoff on; ham up to the lower one, or below the upper if the lower is 0; otherwise unsure.
    pub(crate) fn of(spamicity: f64, [spam_cutoff, ham_cutoff]: [f64; 2]) -> Self {
        if spamicity >= spam_cutoff {
            Outcome::Spam
        } else if ham_cutoff <= f64::EPSILON || spamicity <= ham_cutoff {
            Outcome::Ham
        } else {
            Outcome::Unsure
        }
    }

    /// Its position in a list of three, which is also the exit status.
    pub(crate) fn status(self) -> u8 {
        match self {
            Outcome::Spam => 0,
            Outcome::Ham => 1,
            Outcome::Unsure => 2,
        }
    }
}

/// The verdict on a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    pub(crate) spamicity: f64,
}

impl Verdict {
    /// The verdict by these cutoffs.
    pub(crate) fn of(spamicity: f64, cutoffs: [f64; 2]) -> Self {
        Verdict { outcome: Outcome::of(spamicity, cutoffs), spamicity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutoffs_belong_to_the_outer_classes_and_zero_means_two_states() {
        use Outcome::*;
        let of = |spamicity| Outcome::of(spamicity, [0.99, 0.45]);
        assert_eq!([0.99, 0.989, 0.4501, 0.45, 0.0].map(of), [Spam, Unsure, Unsure, Ham, Ham]);
        assert_eq!([0.99, 0.989, 0.0].map(|p| Outcome::of(p, [0.99, 0.0])), [Spam, Ham, Ham]);
    }
}
