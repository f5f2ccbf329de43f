//! Who a message says it is from, and whether the mail server that took it has proved that.

use std::borrow::Cow;

use crate::message::fields::{HeaderFields, is_mailbox_line};
use crate::message::parameters::without_comments;

/// The values of all header fields of a name, in any case of letters, each on one line, with encoded words still encoded; also
/// of fields that [`ignored`](crate::ignored) lists.
///
/// ```
/// use tamis_mail::header_values;
///
/// let raw = b"X-Virus-Status: Infected,\n by one\nx-virus-status: Clean\n\n";
/// assert!(header_values(raw, "X-Virus-Status").eq(["Infected, by one", "Clean"]));
/// ```
pub fn header_values<'a>(raw: &'a [u8], name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    HeaderFields::lenient(raw).filter(move |field| field.is(name)).map(|field| field.unfolded())
}

/// The author of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Author {
    /// The address, if there is one author with one; in lower case.
    pub address: Option<String>,
    /// The values of the fields `From`, a line each.
    from: String,
    /// Whether the domain of the address is proved: by DMARC, or by a signature (DKIM) or a sender's address (SPF) of that
    /// domain or one above it.
    pub is_proved: bool,
}

impl Author {
    /// Reads the author from `From`, and the proof from the fields `Authentication-Results` (RFC 8601) that the server
    /// `authserv_id` has written; none of them if that is empty.
    ///
    /// Anyone can write such a field, so that server has to remove those in its name that come with a message (section 5
    /// there). What looks as if it had not proves nothing: a field in its name that is malformed or not ASCII, a method that two
    /// fields have results of, a quote within a comment, which the sender may have chosen, a line of the header that is no
    /// field, a NUL.
    ///
    /// ```
    /// use tamis_mail::Author;
    ///
    /// let raw = b"Authentication-Results: mx.example.org; dmarc=pass header.from=example.net\n\
    ///             From: \"boss@example.org\" <Joe@example.net>\n\n";
    /// let author = Author::read(raw, "mx.example.org");
    /// assert_eq!((author.address.as_deref(), author.is_proved), (Some("joe@example.net"), true));
    /// assert!(!Author::read(raw, "mx.example.com").is_proved);
    /// ```
    pub fn read(raw: &[u8], authserv_id: &str) -> Author {
        let mut fields = HeaderFields::lenient(raw);
        let (mut authors, mut results, mut is_whole) = (Vec::new(), Vec::new(), !authserv_id.is_empty());
        for field in fields.by_ref() {
            is_whole &= !field.name.is_empty();
            if field.is("from") {
                authors.push(field.unfolded());
            } else if field.is(RESULTS) {
                // other programs do not trim what is white space to us alone
                is_whole &= field.is_ascii();
                results.push(field.unfolded());
            }
        }
        is_whole &= fields.ended_well() && is_plain(&raw[..fields.position]);
        let address = if let [from] = &authors[..] { address(from) } else { None };
        let domain = address.as_deref().and_then(|address| Some(address.rsplit_once('@')?.1));
        let is_proved = is_whole && domain.is_some_and(|domain| prove(&results, authserv_id, domain));
        Author { from: authors.join("\n"), address, is_proved }
    }

    /// Whether one of the addresses in the fields `From` is such, names and groups too, in lower case: whoever wants to hide his
    /// address may write it in any form.
    ///
    /// ```
    /// use tamis_mail::Author;
    ///
    /// let author = Author::read(b"From: Bob, (x) joe@ EXAMPLE.net\n\n", "");
    /// assert!(author.mentions(|address| address == "joe@example.net"));
    /// ```
    pub fn mentions(&self, is_such: impl Fn(&str) -> bool) -> bool {
        let ends = |c: char| c.is_whitespace() || c.is_control() || "<>()[],;:\\\"'".contains(c);
        let has = |text: &str| {
            let addresses = text.split(ends).filter(|word| word.len() <= LONGEST && word.contains('@'));
            addresses.map(|word| word.trim_matches('.').to_lowercase()).any(|address| is_such(&address))
        };
        has(&self.from) || has(&together(&without_comments(&self.from)))
    }
}

/// The name of the fields with what a server has proved.
const RESULTS: &str = "authentication-results";

/// Maximum length of an address, in bytes.
const LONGEST: usize = 320;

/// Maximum length of a field of results, in bytes.
const LONGEST_RESULTS: usize = 64 << 10;

/// Whether nothing in a header is read by one program as a field and by another as none: NUL, a lone carriage return, a line
/// of a mailbox, a space before a colon.
fn is_plain(block: &[u8]) -> bool {
    let is_odd = |line: &[u8]| {
        let rest = line
            .split_at_checked(RESULTS.len())
            .filter(|(name, _)| name.eq_ignore_ascii_case(RESULTS.as_bytes()));
        rest.is_some_and(|(_, rest)| rest.starts_with(b" ") || rest.starts_with(b"\t"))
            || line.strip_suffix(b"\r").unwrap_or(line).contains(&b'\r')
    };
    let lines = || block.split(|byte| *byte == b'\n');
    !block.contains(&0) && !lines().any(is_odd) && !lines().skip(1).any(is_mailbox_line)
}

/// A text with one space for white space, and none around `@` and `.`, where addresses may have some.
fn together(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !joined.ends_with(['@', '.']) && !word.starts_with(['@', '.']) {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    joined
}

/// The one address of a field; text before it in angle brackets is a name.
fn address(value: &str) -> Option<String> {
    let text = without_comments_and_quotes(value)?;
    let address = match text.split_once('<') {
        Some((name, rest)) => {
            let (address, after) = rest.split_once('>')?;
            let is_one =
                !(name.contains('@') && name.contains([',', ';', ':'])) && after.trim_ascii().is_empty();
            is_one.then_some(address)?
        }
        None => &text,
    };
    let address = address.trim_ascii().to_lowercase();
    let (local, domain) = address.split_once('@')?;
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.contains(|c: char| c.is_whitespace() || c.is_control() || "<>@,;:\\\"".contains(c))
    };
    (address.len() <= LONGEST && is_part(local) && is_part(domain)).then_some(address)
}

/// A value without comments, and of quoted strings only the quotes; `None` if one of them stays open, or has what the
/// writer may have put there from elsewhere: quotes in comments, backslashes.
fn without_comments_and_quotes(value: &str) -> Option<String> {
    let (mut out, mut depth, mut is_quoted) = (String::with_capacity(value.len()), 0, false);
    for c in value.chars() {
        match c {
            '\\' => return None,
            '"' if depth > 0 => return None,
            '"' => {
                is_quoted = !is_quoted;
                out.push(c);
            }
            _ if is_quoted => (),
            '(' => depth += 1,
            ')' if depth == 0 => return None,
            ')' => {
                depth -= 1;
                out.push(' ');
            }
            c => out.extend((depth == 0).then_some(c)),
        }
    }
    (depth == 0 && !is_quoted).then_some(out)
}

/// Whether the results of a server prove a domain.
fn prove(fields: &[Cow<'_, str>], authserv_id: &str, domain: &str) -> bool {
    let mut proofs = Vec::new();
    for field in fields {
        let field = field.to_ascii_lowercase();
        match results(&field, authserv_id) {
            Some(Some(of_field)) => proofs.push(of_field),
            Some(None) => (),
            None if field.contains(&authserv_id.to_ascii_lowercase()) => return false,
            None => (),
        }
    }
    let proves = |method: &str, key: &str, is_it: &dyn Fn(&str) -> bool| {
        let of_method = |all: &&Vec<MethodResult>| all.iter().any(|result| result.method == method);
        let mut with_method = proofs.iter().filter(of_method);
        let (Some(all), None) = (with_method.next(), with_method.next()) else { return false };
        let of_method = all.iter().filter(|result| result.method == method);
        // a message has one author and one sender, but may have several signatures
        (method == "dkim" || of_method.clone().count() == 1)
            && of_method.filter(|result| result.is_pass).any(|result| {
                let values = result.properties.iter().filter(|(name, _)| name == key).map(|(_, value)| value);
                values.clone().count() == 1 && values.map(|value| domain_of(value)).all(is_it)
            })
    };
    let is_above = |other: &str| other.contains('.') && is_within(domain, other);
    proves("dmarc", "header.from", &|other| other == domain)
        || ["header.d", "header.i"].iter().any(|key| proves("dkim", key, &is_above))
        || proves("spf", "smtp.mailfrom", &is_above)
}

/// The domain of an address, or the value itself.
fn domain_of(value: &str) -> &str {
    value.rsplit_once('@').map_or(value, |(_, domain)| domain)
}

/// A result of a method.
struct MethodResult {
    method: String,
    is_pass: bool,
    properties: Vec<(String, String)>,
}

/// The results in a field, which is in lower case; an inner `None` if they are another server's. `None` if it is malformed.
fn results(field: &str, authserv_id: &str) -> Option<Option<Vec<MethodResult>>> {
    let text = without_comments_and_quotes(field).filter(|_| field.len() <= LONGEST_RESULTS)?;
    if text.contains(|c: char| c.is_control() && c != '\t') {
        return None;
    }
    let mut parts = text.split(';').map(|part| part.split_ascii_whitespace());
    let mut first = parts.next()?;
    let (id, version, end) = (first.next()?, first.next(), first.next());
    if end.is_some() || version.is_some_and(|version| version.parse::<u8>().is_err()) {
        return None;
    }
    if !id.eq_ignore_ascii_case(authserv_id) {
        // nothing that resembles the own one
        return (id.is_ascii() && !id.contains('"')).then_some(None);
    }
    let mut all = Vec::new();
    for mut words in parts {
        let Some(result) = words.next().filter(|word| *word != "none") else { continue };
        let (method, result) = result.split_once('=')?;
        let properties = words.map(|word| {
            let (name, value) = word.split_once('=')?;
            let is_property = name == "reason"
                || name
                    .split_once('.')
                    .is_some_and(|(kind, _)| ["smtp", "header", "body", "policy"].contains(&kind));
            (is_property && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        });
        let is_pass = result == "pass";
        all.push(MethodResult {
            method: method.to_owned(),
            is_pass,
            properties: properties.collect::<Option<_>>()?,
        });
    }
    Some(Some(all))
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
            ("Smith, Joe <joe@z>", "joe@z"),
            ("joe@z (boss@x)", "joe@z"),
            ("=?utf-8?q?boss=40x?= <joe@z>", "joe@z"),
            ("a@x, b@y", ""),
            ("a@x, <b@y>", ""),
            ("<a@x> <b@y>", ""),
            ("a@x@y", ""),
            ("joe@par\"x\"z", ""),
            ("\"a <joe@z>", ""),
            ("(a <joe@z>", ""),
            ("Team: joe@z;", ""),
            ("joe", ""),
            ("", ""),
        ] {
            let raw = format!("Subject: x\r\nFrom: {from}\r\n\r\nFrom: c@w\r\n");
            assert_eq!(Author::read(raw.as_bytes(), "").address.unwrap_or_default(), expected, "{from}");
        }
        let author = Author::read(b"From: Bob, A@x.\nfrom: \"b@y\" <c@z> d\n\n", "");
        for address in ["a@x", "b@y", "c@z"] {
            assert!(author.mentions(|it| it == address), "{address}");
        }
        assert!(Author::read(b"From: a (b) @\n (c)x . y\n\n", "").mentions(|it| it == "a@x.y"));
        assert_eq!(author.address, None);
        assert_eq!(Author::read(format!("From: a@{}\n\n", "a.".repeat(9_999)).as_bytes(), "").address, None);
        assert_eq!(Author::read(b"Subject: x\n\n", "").address, None);
    }

    /// Whether fields before `From: joe@mail.z.org` prove it to mx.x.
    fn proved(fields: &str) -> bool {
        let raw = format!("{fields}\r\nFrom: joe@mail.z.org\r\n\r\n");
        Author::read(raw.as_bytes(), "mx.x").is_proved
    }

    #[test]
    fn only_results_of_the_own_server_prove_a_domain() {
        for results in [
            "mx.x; dmarc=pass (p=none) header.from=mail.z.org",
            "MX.x 1; spf=fail smtp.mailfrom=z.org; dkim=pass reason=\"x; y\" header.d=Z.org header.s=a",
            "mx.x (a;b); spf=pass smtp.mailfrom=\"bounce+a=b\"@z.org",
            "mx.x;\r\n\tspf=pass\r\n smtp.mailfrom=z.org;",
            "mx.x; arc=none; dkim=pass header.i=@z.org header.s=s; spf=none (a) smtp.mailfrom=x; dmarc=pass(p=NONE) header.from=z",
            "mx.x; dkim=pass header.d=other.org; dkim=pass header.d=z.org",
        ] {
            assert!(proved(&format!("Authentication-Results: {results}")), "{results}");
        }
        for results in [
            "other; dmarc=pass header.from=mail.z.org",
            "mx.x; dmarc=fail header.from=mail.z.org",
            "mx.x; dmarc=pass header.from=x.org",
            "mx.x; dmarc=pass header.from=z.org",
            "mx.x; dmarc=pass header.from=x.org; dmarc=pass header.from=mail.z.org",
            "mx.x; dkim=pass header.d=az.org",
            "mx.x; dkim=pass header.d=org",
            "mx.x; dkim=pass header.d=sub.mail.z.org",
            "mx.x; dkim=pass header.d=x.org header.d=z.org",
            "mx.x; spf=pass smtp.mailfrom=z.org@x.org",
            "mx.x; spf=fail smtp.mailfrom=\"a; dmarc=pass header.from=mail.z.org\"@x.org",
            "mx.x; spf=fail (a; dmarc=pass header.from=mail.z.org)",
            "mx.x; spf=fail (a; dmarc=pass header.from=mail.z.org",
            "mx.x; spf=none (domain of \"a);dmarc=pass header.from=mail.z.org (b@x.org\" has none)",
            "mx.x; spf=none (domain of a\\);dmarc=pass header.from=mail.z.org (b@x.org)",
            "mx.x; dkim=pass header.d=z.org junk",
            "mx.x junk; dkim=pass header.d=z.org",
            "mx.x\u{a0}; dkim=pass header.d=z.org",
            "\u{a0}mx.x; dkim=pass header.d=z.org",
            "\u{3000}mx.x; dkim=pass header.d=z.org\u{3000}",
            "mx.x; dkim=pass header.d=z.org x.y=z",
            "m\"\"x.x; dkim=pass header.d=z.org",
            "mx\u{0}.x; dkim=pass header.d=z.org",
            "mx\r.x; dkim=pass header.d=z.org",
            "mx.x; d\"\"kim=pass header.d=z.org",
            "mx.x; dmarc=pass",
            "mx.x; none",
            "mx.x",
            "",
        ] {
            assert!(!proved(&format!("Authentication-Results: {results}")), "{results}");
        }
        assert!(!proved("Authentication-Results:\u{feff}mx.x; dkim=pass header.d=z.org"));
        let unnamed = b"Authentication-Results: ; dmarc=pass header.from=z\nFrom: a@z\n\n";
        assert!(!Author::read(unnamed, "").is_proved);
    }

    #[test]
    fn what_is_contradicted_or_malformed_proves_nothing() {
        let pass = "Authentication-Results: mx.x; dmarc=pass header.from=mail.z.org";
        for other in [
            "Authentication-Results: other; dmarc=fail header.from=mail.z.org",
            "Authentication-Results: mx.x; spf=fail smtp.mailfrom=x.org",
            "Subject: x",
        ] {
            assert!(
                proved(&format!("{pass}\r\n{other}")) && proved(&format!("{other}\r\n{pass}")),
                "{other}"
            );
        }
        for other in [
            pass,
            "Authentication-Results: mx.x; dmarc=none header.from=mail.z.org",
            "Authentication-Results: mx.x; spf=none (domain of \"a\"@x.org)",
            "Authentication-Results: mx.x junk",
            "From: b@mail.z.org",
            "garbage\r\nContent-Type: text/plain",
            "Subject: x\r\n>From x",
            "Subject: x\r\nFrom x",
            "Authentication-Results : other",
        ] {
            assert!(
                !proved(&format!("{pass}\r\n{other}")) && !proved(&format!("{other}\r\n{pass}")),
                "{other}"
            );
        }
    }
}
