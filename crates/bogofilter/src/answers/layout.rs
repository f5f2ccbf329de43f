//! bogofilter's verdicts, and lines of them as its format strings say: `%h: %c, spamicity=%p`.

use anyhow::{Result, bail};
use tamis_mail::Message;
use tamis_program::now;

use crate::answers::numbers::{MOST_DECIMALS, Notation, expand, formatted, leading_number};
use crate::options::settings::BogofilterSettings;

/// The class of a message; as a number, its position in a list of three, which is also the exit status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MailClass {
    Spam,
    Ham,
    Unsure,
}

/// bogofilter's verdict: a class, and the probability of spam that it follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bogosity {
    pub(crate) class: MailClass,
    pub(crate) spamicity: f64,
}

impl Bogosity {
    /// Spam from the upper cutoff on; ham up to the lower one, or below the upper if the lower is 0; otherwise unsure.
    pub(crate) fn new(spamicity: f64, [spam_cutoff, ham_cutoff]: [f64; 2]) -> Self {
        let class = if spamicity >= spam_cutoff {
            MailClass::Spam
        } else if ham_cutoff <= f64::EPSILON || spamicity <= ham_cutoff {
            MailClass::Ham
        } else {
            MailClass::Unsure
        };
        Bogosity { class, spamicity }
    }
}

/// The facts about a message that a line can contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) verdict: Bogosity,
    /// The message, or the part of it that is in memory.
    pub(crate) message: &'a [u8],
    /// Number of messages registered.
    pub(crate) messages: u64,
}

/// Maximum characters of a line.
const MOST: usize = 900;

/// Formats a line.
///
/// # Errors
/// If the format contains an unknown conversion.
pub(crate) fn line(format: &str, settings: &BogofilterSettings, facts: &Facts<'_>) -> Result<String> {
    let line = expand(format, |conversion| convert(conversion, settings, facts))?;
    // the line goes into a header, so control characters become spaces
    Ok(line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect())
}

/// The text of a conversion, and the rest of the format after it.
fn convert<'f>(
    format: &'f str,
    settings: &BogofilterSettings,
    facts: &Facts<'_>,
) -> Result<(String, &'f str)> {
    let after_flags = format.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '#');
    let is_delta = format[..format.len() - after_flags.len()].contains('#');
    let (precision, behind) = match after_flags.strip_prefix('.').map(leading_number) {
        Some((number, behind)) => (Some(number), behind),
        None => (None, after_flags),
    };
    let Some(letter) = behind.chars().next() else { return Ok((String::new(), "")) };
    let Bogosity { class, spamicity } = facts.verdict;
    let format = &settings.spamicity_formats[class as usize];
    let distance = if class == MailClass::Spam { 1.0 - spamicity } else { spamicity };
    let near = if is_delta && distance <= 0.001 { distance } else { spamicity };
    let number = |notation: Notation, value: f64, usual: usize| {
        notation.write(value, precision.unwrap_or(usual).min(MOST_DECIMALS))
    };
    let text = match letter {
        'p' => formatted(format, spamicity),
        'd' => formatted(format, distance),
        'e' => number(Notation::Scientific, near, 2),
        'f' => number(Notation::Fixed, near, 6),
        'g' => number(Notation::Shortest, near, 6),
        'o' => number(Notation::Scientific, settings.cutoffs[0], 2),
        // the words and kind of a registration, for which no line is written
        'w' => "0".to_owned(),
        'r' => String::new(),
        'm' => facts.messages.to_string(),
        'D' => now(),
        '%' => "%".to_owned(),
        _ => match text(letter, settings, facts) {
            Some(text) => text.chars().take(precision.unwrap_or(usize::MAX)).collect(),
            None => bail!("expected a format of bogofilter's, got %{letter} in it"),
        },
    };
    Ok((text, &behind[letter.len_utf8()..]))
}

/// The value of a conversion to text, which a precision shortens.
fn text(letter: char, settings: &BogofilterSettings, facts: &Facts<'_>) -> Option<String> {
    let field = |name: &str| {
        Message::parse(facts.message, &Default::default()).header(name).map(|value| value.trim().to_owned())
    };
    let known = |text: Option<String>| text.unwrap_or_else(|| "UNKNOWN".to_owned());
    Some(match letter {
        'c' => settings.tags[facts.verdict.class as usize].clone(),
        'h' => settings.header_name.clone(),
        'l' => settings.log_tag.clone(),
        'v' => env!("CARGO_PKG_VERSION").to_owned(),
        'u' => std::env::var("LOGNAME").or_else(|_| std::env::var("USER")).unwrap_or_default(),
        'I' => known(field("message-id")),
        'A' => known(field("received").and_then(|received| address(&received))),
        'Q' => known(field("received").and_then(|received| queue_id(&received))),
        _ => return None,
    })
}

/// The first address in a Received field.
fn address(received: &str) -> Option<String> {
    let mut words = received.split(|c: char| !(c.is_ascii_hexdigit() || c == '.' || c == ':'));
    words.find(|word| word.parse::<std::net::IpAddr>().is_ok()).map(str::to_owned)
}

/// The word after `id` in a Received field.
fn queue_id(received: &str) -> Option<String> {
    let mut words = received.split_whitespace();
    words.find(|word| *word == "id")?;
    words.next().map(|id| id.trim_end_matches(';').to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Formats come from a file, and messages from anyone.
        #[test]
        fn any_format_gives_a_line_or_an_error(format in "([%#.0-9a-zA-Z,-]|\\PC){0,30}", spamicity in 0.0..=1.0, message: Vec<u8>) {
            let spamicity_formats = [0; 3].map(|_| format.clone());
            let settings = BogofilterSettings { spamicity_formats, ..BogofilterSettings::usual() };
            let verdict = Bogosity::new(spamicity, settings.cutoffs);
            let facts = Facts { verdict, message: &message, messages: 0 };
            for format in [&*format, "%p %d"] {
                if let Ok(line) = line(format, &settings, &facts) {
                    prop_assert!(line.chars().count() <= MOST && !line.contains(char::is_control));
                }
            }
        }
    }

    #[test]
    fn cutoffs_belong_to_the_outer_classes_and_zero_means_two_states() {
        use MailClass::*;
        let class = |spamicity| Bogosity::new(spamicity, [0.99, 0.45]).class;
        assert_eq!([0.99, 0.989, 0.4501, 0.45, 0.0].map(class), [Spam, Unsure, Unsure, Ham, Ham]);
        assert_eq!([0.99, 0.989, 0.0].map(|p| Bogosity::new(p, [0.99, 0.0]).class), [Spam, Ham, Ham]);
    }

    const MAIL: &[u8] =
        b"Received: from a ([192.0.2.7]) by b with ESMTP id 4AF2;\n\tMon\nMessage-ID: <1@x.org>\n\nHi\n";

    fn check(format: &str, spamicity: f64, expected: &str) {
        let settings = BogofilterSettings { log_tag: "tag".to_owned(), ..BogofilterSettings::usual() };
        let verdict = Bogosity::new(spamicity, settings.cutoffs);
        let facts = Facts { verdict, message: MAIL, messages: 2 };
        assert_eq!(line(format, &settings, &facts).unwrap(), expected, "{format}");
    }

    #[test]
    fn formats_say_what_bogofilter_s_say() {
        let version = env!("CARGO_PKG_VERSION");
        let usual = format!("X-Bogosity: Ham, tests=bogofilter, spamicity=0.000007, version={version}");
        check("%h: %c, tests=bogofilter, spamicity=%p, version=%v", 7.340_91e-6, &usual);
        check("%1.1c %f", 7.340_91e-6, "H 0.000007");
        check("%1.1c %-8.6g", 7.340_914e-6, "H 7.34091e-06");
        check("%0.16f", 0.25, "0.2500000000000000");
        check("%c %d", 0.9999, "Spam 0.000100");
        check("%c %#f %e", 0.9999, "Spam 0.000100 1.00e+00");
        check("%c %#f", 0.5, "Unsure 0.500000");
        check("cutoff=%o %l %r %w %m 100%%", 0.5, "cutoff=9.90e-01 tag  0 2 100%");
        check("%A %I %Q", 0.5, "192.0.2.7 <1@x.org> 4AF2");
    }

    #[test]
    fn an_unknown_conversion_is_an_error_and_no_line_ends_early() {
        let verdict = Bogosity { class: MailClass::Ham, spamicity: 0.0 };
        let facts = Facts { verdict, message: b"", messages: 0 };
        assert!(line("%z", &BogofilterSettings::usual(), &facts).is_err());
        assert_eq!(line("a\nb%I", &BogofilterSettings::usual(), &facts).unwrap(), "a bUNKNOWN");
    }
}
