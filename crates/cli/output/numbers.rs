//! Numbers in readable form, as in reports.

pub(crate) use tamis_report::{counted, grouped};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "term"), "1 term");
        assert_eq!(counted(12_000, "term"), "12,000 terms");
    }
}
