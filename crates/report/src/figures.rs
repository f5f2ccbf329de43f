//! The figures, one per file. Each turns numbers into a chart: a drawing, its finding in words, and tables.

pub(crate) mod bars;
pub(crate) mod confusion;
pub(crate) mod learning;
pub(crate) mod log_odds;
pub(crate) mod mixed_up;
pub(crate) mod order;
pub(crate) mod reliability;
pub(crate) mod thresholds;

use std::fmt::Write;

use crate::draw::Svg;
use crate::text::without_elements;

/// A figure of a page. All texts are HTML already.
#[derive(Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What the figure shows, in a sentence or two. The report begins with the findings of all figures.
    pub(crate) finding: Option<String>,
    /// How to read the figure.
    pub(crate) note: String,
    /// A description of the drawing for those who cannot see it, without elements.
    pub(crate) description: String,
    pub(crate) drawing: Svg,
    /// What is beside the drawing.
    pub(crate) beside: Option<String>,
    pub(crate) tables: Vec<DataTable>,
    /// Whether the tables are open from the start.
    pub(crate) is_open: bool,
}

/// A table of numbers. All texts are HTML already.
pub(crate) struct DataTable {
    pub(crate) caption: String,
    pub(crate) head: Vec<String>,
    /// Number of columns, from the first on, that are text. The first names the row.
    pub(crate) n_texts: usize,
    pub(crate) rows: Vec<Vec<String>>,
}

impl DataTable {
    pub(crate) fn new(caption: impl Into<String>, head: &[&str], rows: Vec<Vec<String>>) -> Self {
        let head = head.iter().map(|name| (*name).to_owned()).collect();
        DataTable { caption: caption.into(), head, n_texts: 1, rows }
    }

    pub(crate) fn with_texts(self, n_texts: usize) -> Self {
        DataTable { n_texts, ..self }
    }

    pub(crate) fn write(&self, out: &mut String) {
        let class = |column| if column < self.n_texts { r#" class="t""# } else { "" };
        out.push_str("<div class=\"scroll\" tabindex=\"0\"><table>");
        if !self.caption.is_empty() {
            let _ = write!(out, "<caption>{}</caption>", self.caption);
        }
        out.push_str("<thead><tr>");
        for (column, name) in self.head.iter().enumerate() {
            let _ = write!(out, "<th scope=\"col\"{}>{name}</th>", class(column));
        }
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let _ = match column {
                    0 => write!(out, "<th scope=\"row\"{}>{cell}</th>", class(column)),
                    _ => write!(out, "<td{}>{cell}</td>", class(column)),
                };
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
    }
}

impl Chart {
    /// Writes the figure. `id` must be unique in the page.
    pub(crate) fn write(&self, out: &mut String, id: &str) {
        let Chart { title, finding, note, description, drawing, beside, tables, is_open } = self;
        let _ = write!(out, "<figure id=\"{id}\"><figcaption><h2>{title}</h2>");
        if let Some(finding) = finding {
            let _ = write!(out, "<p class=\"finding\">{finding}</p>");
        }
        if !note.is_empty() {
            let _ = write!(out, "<p class=\"note\">{note}</p>");
        }
        let Svg { width, height, is_fixed, body } = drawing;
        let class = if *is_fixed { "fixed" } else { "plot" };
        let svg = format!(
            "<svg class=\"{class}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" viewBox=\"0 0 {width} {height}\" \
             style=\"--w:{width}px\"><title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>{body}</svg>"
        );
        let (svg, beside) = (without_elements(&svg), beside.as_deref().unwrap_or_default());
        let _ = write!(
            out,
            "</figcaption><div class=\"beside\"><div class=\"scroll\" tabindex=\"0\">{svg}</div>{beside}</div>"
        );
        if !tables.is_empty() {
            let open = if *is_open { " open" } else { "" };
            let _ = write!(out, "<details{open}><summary>The numbers</summary>");
            tables.iter().for_each(|table| table.write(out));
            out.push_str("</details>");
        }
        out.push_str("</figure>\n");
    }
}
