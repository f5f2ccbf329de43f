//! What a filter said of documents, and the figures of it.

use tamis_model::metrics::{
    brier, caught_at_fpr, expected_calibration_error, log_loss, one_minus_roc_auc_percent,
};

pub enum Answers {
    /// The log-odds of the second class, and whether it is of that class.
    Two(Vec<(f64, bool)>),
    /// The probability of each class, and the true one.
    Many(Vec<(Vec<f64>, usize)>),
}

/// A column of the table of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    Accuracy,
    LogLoss,
    Ece,
    Brier,
    Roca,
    Missed01,
    Missed05,
    Missed1,
    Fpr,
    Fnr,
    TrainCpu,
}

use Column::*;

impl Column {
    pub const ALL: [Column; 11] =
        [Accuracy, LogLoss, Ece, Brier, Roca, Missed01, Missed05, Missed1, Fpr, Fnr, TrainCpu];

    pub fn name(self) -> &'static str {
        match self {
            Accuracy => "accuracy",
            LogLoss => "log loss",
            Ece => "ECE",
            Brier => "Brier",
            Roca => "1-ROCA %",
            Missed01 => "% missed at .1 % FPR",
            Missed05 => "at .5 %",
            Missed1 => "at 1 %",
            Fpr => "FPR %",
            Fnr => "FNR %",
            TrainCpu => "train CPU s",
        }
    }

    pub fn decimals(self) -> usize {
        match self {
            Accuracy | LogLoss | Ece | Brier | Roca => 4,
            Missed01 | Missed05 | Missed1 | Fpr | Fnr | TrainCpu => 2,
        }
    }

    /// Whether more is better.
    pub fn is_gain(self) -> bool {
        self == Accuracy
    }
}

impl Answers {
    /// The figure of a column, if these answers have it. Accuracy, FPR and FNR are those of the likelier class, whatever
    /// the thresholds; the ECE is of the probability of that class, in 15 bins.
    pub fn figure(&self, column: Column) -> Option<f64> {
        match self {
            Answers::Two(answers) => of_two(answers, column),
            Answers::Many(answers) => of_many(answers, column),
        }
    }
}

fn of_two(answers: &[(f64, bool)], column: Column) -> Option<f64> {
    let missed = |fpr| caught_at_fpr(answers, fpr).map(|caught| 100.0 * (1.0 - caught));
    let is_wrong = |(z, truth): &&(f64, bool)| (*z > 0.0) != *truth;
    let wrong_of = |class: bool| {
        let of_class = answers.iter().filter(|(_, truth)| *truth == class);
        100.0 * of_class.clone().filter(is_wrong).count() as f64 / of_class.count() as f64
    };
    match column {
        Accuracy => Some(1.0 - answers.iter().filter(is_wrong).count() as f64 / answers.len() as f64),
        LogLoss => log_loss(answers),
        Ece => {
            let likelier: Vec<_> = answers.iter().map(|(z, truth)| (z.abs(), (*z > 0.0) == *truth)).collect();
            expected_calibration_error(&likelier, 15)
        }
        Brier => brier(answers),
        Roca => one_minus_roc_auc_percent(answers),
        Missed01 => missed(0.001),
        Missed05 => missed(0.005),
        Missed1 => missed(0.01),
        Fpr => Some(wrong_of(false)),
        Fnr => Some(wrong_of(true)),
        TrainCpu => None,
    }
}

fn of_many(answers: &[(Vec<f64>, usize)], column: Column) -> Option<f64> {
    let likeliest = |p: &[f64]| (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap();
    let n = answers.len() as f64;
    match column {
        Accuracy => Some(answers.iter().filter(|(p, truth)| likeliest(p) == *truth).count() as f64 / n),
        LogLoss => Some(-answers.iter().map(|(p, truth)| p[*truth].max(1e-15).ln()).sum::<f64>() / n),
        Ece => {
            let best = answers.iter().map(|(p, truth)| (likeliest(p), p, truth));
            let log_odds = best.map(|(best, p, truth)| ((p[best] / (1.0 - p[best])).ln(), best == *truth));
            expected_calibration_error(&log_odds.collect::<Vec<_>>(), 15)
        }
        _ => None,
    }
}
