//! Two classes, and the names that figures use for their errors.

use tamis_train::evaluate::OperatingPoint;

use crate::text::{Name, Plain, grouped, percent, share};

/// Two classes. The positive one is looked for.
pub(crate) struct Two<'a> {
    pub(crate) negative: &'a str,
    pub(crate) positive: &'a str,
    pub(crate) negatives: u64,
    pub(crate) positives: u64,
    /// Whether the positive class is spam.
    pub(crate) is_spam: bool,
}

impl Two<'_> {
    /// The name of false positives: `ham lost`.
    pub(crate) fn lost(&self) -> String {
        match self.is_spam {
            true => format!("{} lost", Name(self.negative)),
            false => format!("{} called {}", Name(self.negative), Name(self.positive)),
        }
    }

    /// The name of false negatives: `spam missed`.
    pub(crate) fn missed(&self) -> String {
        format!("{} missed", Name(self.positive))
    }

    /// As [`lost`](Self::lost), for drawings.
    pub(crate) fn plain_lost(&self) -> String {
        match self.is_spam {
            true => format!("{} lost", Plain(self.negative)),
            false => format!("{} called {}", Plain(self.negative), Plain(self.positive)),
        }
    }

    pub(crate) fn plain_missed(&self) -> String {
        format!("{} missed", Plain(self.positive))
    }

    /// The share of positives that is found at an operating point.
    pub(crate) fn found(&self, point: &OperatingPoint) -> f64 {
        share(self.positives - point.missed.min(self.positives), self.positives)
    }

    /// `4 of 4,150 ham lost`
    pub(crate) fn lost_at(&self, point: &OperatingPoint) -> String {
        format!("{} of {} {}", grouped(point.false_positives), grouped(self.negatives), self.lost())
    }

    /// `132 of 1,897 spam missed (6.96 %)`
    pub(crate) fn missed_at(&self, point: &OperatingPoint) -> String {
        let missed = percent(share(point.missed, self.positives));
        format!("{} of {} {} ({missed})", grouped(point.missed), grouped(self.positives), self.missed())
    }
}

/// The operating points that curves mark: at 0.1, 0.5 and 1 % of the negatives.
pub(crate) fn marked(points: &[OperatingPoint]) -> impl Iterator<Item = &OperatingPoint> {
    points.iter().filter(|point| [0.001, 0.005, 0.01].contains(&point.max_fpr))
}

/// `10 in 10,000`
pub(crate) fn in_ten_thousand(share: f64) -> String {
    format!("{} in 10,000", grouped((10_000.0 * share).round() as u64))
}
