//! Mail to fields of text: RFC 5322, MIME and HTML, parsed leniently and within limits
