//! Who a message says it is from, and whether the mail server that took it has proved that.

use std::borrow::Cow;

use crate::message::fields::HeaderFields;
use crate::message::parameters::without_comments;

/// All header fields as they were written, names and values on one line, with those that [`ignored`](crate::ignored) lists.
/// Encoded words stay encoded.
pub fn header_fields(raw: &[u8]) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    HeaderFields::lenient(raw).map(|field| (field.name, field.unfolded()))
}

/// The author of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Author {
    /// The address, in lower case.
    pub address: String,
    /// Whether the domain of the address is proved: by DMARC, or by a signature (DKIM) or a sender's address (SPF) of that
    /// domain or one above it.
    pub is_proved: bool,
}

impl Author {
    /// Reads the author from `From`, and the proof from the fields `Authentication-Results` (RFC 8601) that the server
    /// `authserv_id` has written; none of them if that is empty. Returns `None` unless there is one author with one
    /// address.
    ///
    /// Anyone can write such a field, so that server has to remove those in its name that come with a message (section 5
    /// there). What it quotes in one is left out, since the sender may have chosen it.
    ///
    /// ```
    /// use tamis_mail::Author;
    ///
    /// let raw = b"Authentication-Results: mx.example.org; dmarc=pass header.from=example.net\n\
    ///             From: \"boss@example.org\" <Joe@example.net>\n\n";
    /// let author = Author::read(raw, "mx.example.org").unwrap();
    /// assert_eq!((author.address.as_str(), author.is_proved), ("joe@example.net", true));
    /// assert!(!Author::read(raw, "mx.example.com").unwrap().is_proved);
    /// ```
    pub fn read(raw: &[u8], authserv_id: &str) -> Option<Author> {
        let (mut authors, mut results) = (Vec::new(), Vec::new());
        for (name, value) in header_fields(raw) {
            if name.eq_ignore_ascii_case("from") {
                authors.push(address(&value)?);
            } else if name.eq_ignore_ascii_case("authentication-results") {
                results.push(value);
            }
        }
        let [address] = <[String; 1]>::try_from(authors).ok()?;
        let (_, domain) = address.rsplit_once('@')?;
        let is_proved =
            !authserv_id.is_empty() && results.iter().any(|field| proves(field, authserv_id, domain));
        Some(Author { is_proved, address })
    }
}

/// The one address of a field; text before it in angle brackets is a name.
fn address(value: &str) -> Option<String> {
    let text = plain(value)?;
    let address = match text.split_once('<') {
        Some((name, rest)) => {
            let (address, after) = rest.split_once('>')?;
            let is_one = !name.contains([',', ';', ':']) && after.trim().is_empty();
            is_one.then_some(address)?
        }
        None => &text,
    };
    let address = address.trim().to_lowercase();
    let (local, domain) = address.split_once('@')?;
    let is_part = |part: &str| {
        !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || "<>@,;:\\\"".contains(c))
    };
    (is_part(local) && is_part(domain)).then_some(address)
}

/// A value without comments and quoted strings; `None` if one of them stays open.
fn plain(value: &str) -> Option<String> {
    let text = without_comments(value);
    let (mut plain, mut is_quoted, mut is_escaped) = (String::with_capacity(text.len()), false, false);
    for c in text.chars() {
        is_quoted ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        plain.extend((!is_quoted && c != '"').then_some(c));
    }
    (!is_quoted && !plain.contains(['(', ')'])).then_some(plain)
}

/// Whether the results of a server prove a domain.
fn proves(results: &str, authserv_id: &str, domain: &str) -> bool {
    let Some(text) = plain(results).map(|text| text.to_lowercase()) else { return false };
    let mut parts = text.split(';');
    let own = parts.next().and_then(|part| part.split_whitespace().next());
    own.is_some_and(|own| own.eq_ignore_ascii_case(authserv_id))
        && parts.any(|part| {
            let mut words = part.split_whitespace();
            let proof = match words.next() {
                Some("dmarc=pass") => "header.from=",
                Some("dkim=pass") => "header.d=",
                Some("spf=pass") => "smtp.mailfrom=",
                _ => return false,
            };
            let proved = words.find_map(|word| word.strip_prefix(proof));
            proved.is_some_and(|proved| {
                let proved = proved.rsplit_once('@').map_or(proved, |(_, domain)| domain);
                is_within(domain, proved)
            })
        })
}

/// Whether a domain is another one or below it; both in lower case.
///
/// ```
/// use tamis_mail::is_within;
///
/// assert!(is_within("mail.example.org", "example.org") && is_within("example.org", "example.org"));
/// assert!(!is_within("anexample.org", "example.org") && !is_within("example.org", ""));
/// ```
pub fn is_within(domain: &str, other: &str) -> bool {
    let above = domain.strip_suffix(other);
    !other.is_empty() && above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_has_one_address_whatever_his_name_is() {
        for (from, expected) in [
            ("joe@example.org", "joe@example.org"),
            (" <Joe@Example.ORG> ", "joe@example.org"),
            ("\"boss@x, (a) <b@y>\" <joe@z>", "joe@z"),
            ("boss@x <joe@z>", "joe@z"),
            ("joe@z (boss@x)", "joe@z"),
            ("=?utf-8?q?boss=40x?= <joe@z>", "joe@z"),
            ("a@x, b@y", ""),
            ("a@x, <b@y>", ""),
            ("<a@x> <b@y>", ""),
            ("a@x@y", ""),
            ("\"a <joe@z>", ""),
            ("(a <joe@z>", ""),
            ("joe", ""),
            ("", ""),
        ] {
            let raw = format!("Subject: x\r\nFrom: {from}\r\n\r\nFrom: c@w\r\n");
            let author = Author::read(raw.as_bytes(), "").map(|author| author.address);
            assert_eq!(author.unwrap_or_default(), expected, "{from}");
        }
        assert_eq!(Author::read(b"From: a@x\nfrom: b@y\n\n", ""), None);
        assert_eq!(Author::read(b"Subject: x\n\n", ""), None);
    }

    #[test]
    fn only_results_of_the_own_server_prove_a_domain() {
        let proved = |results: &str| {
            let raw = format!("Authentication-Results: {results}\r\nFrom: joe@mail.z.org\r\n\r\n");
            Author::read(raw.as_bytes(), "mx").unwrap().is_proved
        };
        for results in [
            "mx; dmarc=pass (p=none) header.from=mail.z.org",
            "MX 1; spf=fail smtp.mailfrom=z.org; dkim=pass reason=\"x; y\" header.d=Z.org",
            "mx (a;b); spf=pass smtp.mailfrom=bounce@z.org",
            "mx;\r\n\tspf=pass\r\n smtp.mailfrom=z.org",
        ] {
            assert!(proved(results), "{results}");
        }
        for results in [
            "other; dmarc=pass header.from=mail.z.org",
            "mx; dmarc=fail header.from=mail.z.org",
            "mx; dmarc=pass header.from=x.org",
            "mx; dkim=pass header.d=az.org",
            "mx; dkim=pass header.d=sub.mail.z.org",
            "mx; spf=pass smtp.mailfrom=z.org@x.org",
            "mx; spf=fail smtp.mailfrom=\"a; dmarc=pass header.from=mail.z.org\"@x.org",
            "mx; spf=fail (a; dmarc=pass header.from=mail.z.org)",
            "mx; spf=fail (a; dmarc=pass header.from=mail.z.org",
            "mx; dmarc=pass",
            "mx; none",
            "mx",
            "",
        ] {
            assert!(!proved(results), "{results}");
        }
        let unnamed = b"Authentication-Results: ; dmarc=pass header.from=z\nFrom: a@z\n\n";
        assert!(!Author::read(unnamed, "").unwrap().is_proved);
    }
}
