//! Bars and curves of Unicode blocks, for terminals that can show them.

use std::io::IsTerminal;

/// Minimum columns of a terminal for pictures.
const LEAST: usize = 60;

/// Blocks that grow to the right, and blocks that grow upwards.
const WIDER: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const HIGHER: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A terminal that can show pictures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Canvas {
    /// Its columns.
    width: usize,
}

impl Canvas {
    /// Standard output, if it is a UTF-8 terminal of at least 60 columns. `None` if NO_COLOR asks for plain output or
    /// the terminal is dumb.
    pub(crate) fn of_stdout() -> Option<Self> {
        let stdout = std::io::stdout();
        if !stdout.is_terminal() {
            return None;
        }
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_plain = set("NO_COLOR").is_some() || set("TERM").is_none_or(|term| term == "dumb");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
        let is_utf8 = ["UTF-8", "UTF8"].iter().any(|known| locale.to_ascii_uppercase().ends_with(known));
        let (terminal_size::Width(width), _) = terminal_size::terminal_size_of(stdout)?;
        (!is_plain && is_utf8 && usize::from(width) >= LEAST).then_some(Canvas { width: width.into() })
    }

    /// The columns of a bar beside `text` columns of text: at most `most`, or `None` if there would be too few.
    pub(crate) fn beside(self, text: usize, most: usize) -> Option<usize> {
        let left = self.width.saturating_sub(text + 2).min(most);
        (left >= 8).then_some(left)
    }
}

/// A share as a bar of `columns` columns.
pub(crate) fn bar(share: f64, columns: usize) -> String {
    let filled = filled(share, 8 * columns);
    let mut bar: String = std::iter::repeat_n('█', filled / 8).collect();
    if !filled.is_multiple_of(8) {
        bar.push(WIDER[filled % 8]);
    }
    bar.extend(std::iter::repeat_n(' ', columns - filled.div_ceil(8)));
    bar
}

/// A number from -1 to 1 as a bar to the left or to the right of a line, in `columns` columns.
pub(crate) fn signed_bar(share: f64, columns: usize) -> String {
    let half = (columns - 1) / 2;
    if share >= 0.0 {
        return format!("{:half$}│{}", "", bar(share, half));
    }
    // to the left, only the right half of a block exists
    let halves = filled(-share, 2 * half);
    let mut left: String = std::iter::repeat_n(' ', half - halves.div_ceil(2)).collect();
    left.extend((!halves.is_multiple_of(2)).then_some('▐'));
    left.extend(std::iter::repeat_n('█', halves / 2));
    format!("{left}│{:half$}", "")
}

/// Shares as a curve of `rows` rows, the highest row first.
pub(crate) fn curve(shares: &[f64], rows: usize) -> Vec<String> {
    let row = |row: usize| {
        let above = 8 * (rows - 1 - row);
        shares.iter().map(|share| HIGHER[filled(*share, 8 * rows).saturating_sub(above).min(8)]).collect()
    };
    (0..rows).map(row).collect()
}

/// How many of `units` a share fills. Any share above 0 fills at least one.
fn filled(share: f64, units: usize) -> usize {
    if share.is_nan() || share <= 0.0 {
        return 0;
    }
    ((share.min(1.0) * units as f64).round() as usize).clamp(1, units)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bars_are_as_long_as_they_say() {
        for (share, drawn) in [
            (0.0, "    "),
            (1e-9, "▏   "),
            (0.25, "█   "),
            (0.5625, "██▎ "),
            (1.0, "████"),
            (7.0, "████"),
            (-1.0, "    "),
            (f64::NAN, "    "),
            (f64::INFINITY, "████"),
        ] {
            assert_eq!(bar(share, 4), drawn, "{share}");
        }
        for (share, drawn) in
            [(0.0, "    │    "), (0.5, "    │██  "), (-0.5, "  ██│    "), (-0.6, " ▐██│    ")]
        {
            assert_eq!(signed_bar(share, 9), drawn, "{share}");
        }
        assert_eq!(signed_bar(f64::NEG_INFINITY, 9), "████│    ");
    }

    #[test]
    fn curves_have_the_highest_row_first() {
        assert_eq!(curve(&[0.0, 0.25, 0.5, 0.75, 1.0], 2), ["   ▄█", " ▄███"]);
    }

    proptest! {
        #[test]
        fn everything_has_its_columns(share: f64, small in -2.0f64..2.0, columns in 1usize..40) {
            for share in [share, small] {
                prop_assert_eq!(bar(share, columns).chars().count(), columns);
                let odd = 2 * columns + 1;
                prop_assert_eq!(signed_bar(share, odd).chars().count(), odd);
            }
        }
    }
}
