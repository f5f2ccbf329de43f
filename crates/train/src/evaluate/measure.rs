//! The figures of an evaluation: their names, in JSON and in words, and how their numbers are shown.

use std::fmt;

/// What a [`Figure`](crate::evaluate::Figure) measures, and how it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Measure {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its short name, at a prompt.
    pub name: &'static str,
    /// Its name in words, with its unit if that is not a share.
    pub words: &'static str,
    /// What its values are.
    pub unit: Unit,
    /// The decimals that are shown.
    pub decimals: usize,
}

/// What the values of a [`Measure`] are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Numbers, shown as they are.
    Number,
    /// Shares, shown in percent.
    Share,
    /// Numbers in percent.
    Percent,
}

impl fmt::Display for Unit {
    /// What follows the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Number => "",
            Unit::Share => " %",
            Unit::Percent => "%",
        })
    }
}

impl Measure {
    /// A value as text, without its unit: a share is in percent.
    pub fn number(&self, value: f64) -> String {
        let scale = if self.unit == Unit::Share { 100.0 } else { 1.0 };
        format!("{:.*}", self.decimals, scale * value)
    }
}

/// Declares the measures, a line each.
macro_rules! measures {
    ($($id:ident = $key:literal, $name:literal, $words:literal, $unit:ident, $decimals:literal;)+) => {
        $(pub(crate) const $id: Measure =
            Measure { key: $key, name: $name, words: $words, unit: Unit::$unit, decimals: $decimals };)+
    };
}

measures! {
    ACCURACY = "accuracy", "accuracy", "accuracy", Number, 4;
    MICRO_F1 = "micro_f1", "micro F1", "micro F1", Number, 4;
    MACRO_F1 = "macro_f1", "macro F1", "macro F1", Number, 4;
    PRECISION = "precision", "precision", "precision", Number, 4;
    RECALL = "recall", "recall", "recall", Number, 4;
    EXACT = "exact", "exact", "documents given exactly their labels", Number, 4;
    PRECISION_AT_1 = "precision_at_1", "precision at 1", "precision of the likeliest label", Number, 4;
    PRECISION_AT_3 = "precision_at_3", "precision at 3", "precision of the three likeliest labels", Number, 4;
    PRECISION_AT_5 = "precision_at_5", "precision at 5", "precision of the five likeliest labels", Number, 4;
    FPR = "false_positive_rate", "FPR", "false-positive rate (ham lost)", Share, 2;
    FNR = "false_negative_rate", "FNR", "false-negative rate (spam missed)", Share, 2;
    LAM = "lam_percent", "LAM", "LAM, in percent", Percent, 2;
    ACCURACY_AT_0 = "accuracy_at_0", "accuracy at 0", "accuracy at log-odds 0", Number, 4;
    ROC_AUC = "roc_auc", "ROC AUC", "area under the ROC curve", Number, 6;
    ONE_MINUS_ROCA = "one_minus_roc_auc_percent", "1-ROCA", "1-ROCA, in percent", Percent, 4;
    MISSED_AT_01 = "missed_at_fpr_0.1_percent", "missed at 0.1 % FPR", "missed at 0.1 % false positives", Share, 2;
    MISSED_AT_05 = "missed_at_fpr_0.5_percent", "missed at 0.5 % FPR", "missed at 0.5 % false positives", Share, 2;
    MISSED_AT_1 = "missed_at_fpr_1_percent", "missed at 1 % FPR", "missed at 1 % false positives", Share, 2;
    FPR_AT_0 = "false_positive_rate_at_0", "FPR at log-odds 0", "false-positive rate at log-odds 0", Share, 2;
    FNR_AT_0 = "false_negative_rate_at_0", "FNR at log-odds 0", "false-negative rate at log-odds 0", Share, 2;
    LOG_LOSS = "log_loss", "log loss", "log loss, in nats", Number, 4;
    BRIER = "brier", "Brier", "Brier score", Number, 4;
    ECE = "expected_calibration_error", "ECE", "expected calibration error", Number, 4;
}
