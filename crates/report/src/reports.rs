//! The pages: of an evaluation, a model, an explanation, a score, of drift.

pub(crate) mod drift;
pub(crate) mod evaluation;
pub(crate) mod explanation;
pub(crate) mod mislabels;
pub(crate) mod model;

use std::fmt::Write;

use crate::figures::{Chart, DataTable};
use crate::text::without_elements;

/// How a page looks: see `style.css`.
const STYLE: &str = include_str!("style.css");
const PAGE_STYLE: &str = include_str!("page.css");

/// A report: a title, facts, and figures with their numbers. It runs no script and loads nothing.
///
/// ```
/// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
/// trainer.add("fruit", Document::Text("apples and pears"))?;
/// trainer.add("metal", Document::Text("iron and tin"))?;
/// let filter = trainer.finish()?.into_filter()?;
///
/// let explanation = filter.explain(Document::Text("a pound of pears"), &mut Scratch::default())?;
/// let page = tamis_report::explanation_page("pears.txt", filter.classes(), &explanation, &[], 20);
/// assert!(page.to_html().contains("<bdi>pears</bdi>"));
/// # Ok::<(), tamis_train::Error>(())
/// ```
#[derive(Default)]
pub struct Page {
    /// The title. HTML already, as are all fields below.
    pub(crate) title: String,
    /// What is known besides the figures, in sentences.
    pub(crate) facts: Vec<String>,
    pub(crate) figures: Vec<Chart>,
    /// Numbers that no figure draws.
    pub(crate) tables: Vec<DataTable>,
}

impl Page {
    /// Returns the whole page as one self-contained file. It is light or dark like the reader's system, and white in
    /// print.
    pub fn to_html(&self) -> String {
        let title = without_elements(&self.title);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline'\">\
             <title>{title}</title><style>{STYLE}{PAGE_STYLE}</style></head>\n<body class=\"tamis page\">{}</body></html>\n",
            self.body("f", "h1")
        )
    }

    /// Returns the page as a fragment for another page, such as a notebook, in that page's colours.
    pub fn to_fragment(&self) -> String {
        let body = self.body("", "h2");
        // unique, since a page may hold several fragments
        let prefix = format!("t{:016x}-", fnv(body.as_bytes()));
        format!("<style>{STYLE}</style><div class=\"tamis\">{}</div>", self.body(&prefix, "h2"))
    }

    fn body(&self, prefix: &str, heading: &str) -> String {
        let mut out = format!("<header><{heading}>{}</{heading}>", self.title);
        for fact in &self.facts {
            let _ = write!(out, "<p>{fact}</p>");
        }
        let findings = |(n, figure): (usize, &Chart)| {
            let finding = figure.finding.as_ref()?;
            Some(format!("<li><a href=\"#{prefix}{}\">{}</a>: {finding}</li>", n + 1, figure.title))
        };
        let findings: Vec<_> = self.figures.iter().enumerate().filter_map(findings).collect();
        if findings.len() > 1 {
            let _ = write!(out, "<ul class=\"short\">{}</ul>", findings.concat());
        }
        // a page that holds a fragment has its own
        let main = if heading == "h1" { "main" } else { "div" };
        let _ = write!(out, "</header>\n<{main}>");
        for (n, figure) in self.figures.iter().enumerate() {
            figure.write(&mut out, &format!("{prefix}{}", n + 1));
        }
        self.tables.iter().for_each(|table| table.write(&mut out));
        let _ = write!(out, "</{main}>");
        out
    }
}

/// A short hash that is the same everywhere (FNV-1a).
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
