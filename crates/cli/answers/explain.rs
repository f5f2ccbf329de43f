//! `tamis explain`

use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use serde_json::json;
use tamis_program::{Stream, counted, grouped, json_line, shown, shown_path};
use tamis_report::explanation_page;
use tamis_train::{Document, Doubt, Explanation, Filter, Kind, Scratch, TermContribution};

use crate::args::{ModelArgs, TextCommandArgs, VectorArgs, VerdictArgs};
use crate::formats::holds::TableShape;
use crate::formats::record::TableRow;
use crate::input::{
    DocumentView, FileReader, HeldDocument, SourceArg, VectorSource, find_tables, part, table_texts,
    whole_rows,
};
use crate::output::{Canvas, DocumentVerdict, file_name, say_limits, signed_bar, to_text, write_page};

#[derive(Args)]
#[command(after_help = "\
The log-odds are the value before any term plus what each term adds.

Example:
  tamis explain message.eml
  tamis explain --json --terms 0 < message.eml")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The message or document; standard input by default
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Number of terms to show, 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) terms: usize,
    /// Also write a report with pictures to this file (HTML)
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// List pieces of words separately instead of with their words
    #[arg(long)]
    pub(crate) pieces: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) text: TextCommandArgs,
    #[command(flatten)]
    pub(crate) vectors: VectorArgs,
    // last, since its heading applies to everything after it
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<u8> {
    let mut filter = args.model.open()?;
    args.decision.apply(&mut filter)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if filter.information().recipe.kind == Kind::Table {
        ensure!(args.html.is_none(), "--html: expected a message or text, got a model of tables");
        args.vectors.check_for(filter.information().recipe)?;
        explain_rows(&mut out, args, &filter)?;
    } else {
        explain_documents(&mut out, args, &filter)?;
    }
    filter.check_unchanged()?;
    out.flush()?;
    Ok(0)
}

/// Explains a document, or each text of a table.
fn explain_documents(out: &mut impl Write, args: &ExplainArgs, filter: &Filter) -> Result<()> {
    let path = args.file.as_deref().unwrap_or(Path::new("-"));
    let recipe = filter.information().recipe;
    let column = recipe.vectors.as_ref().and(args.vectors.column());
    let documents = match if recipe.kind == Kind::Text { table_texts(path, column)? } else { None } {
        Some(rows) => {
            let held = |text: String| HeldDocument::new(Document::Text(&text));
            rows.map(|row| row.map(|(name, text, own)| (name, held(text), own))).collect::<Result<_>>()?
        }
        None => {
            let stream = Stream::open(path).with_context(|| shown_path(&path))?;
            let is_mbox = path.as_os_str() != "-" && stream.is_mbox();
            let bytes = stream.into_all(recipe.kind).with_context(|| shown_path(&path))?;
            let read = match is_mbox {
                true => Err("an mbox of several messages".to_owned()),
                false => FileReader::new(&args.text)?.read(recipe.kind, path, &bytes),
            };
            let expected = |what| anyhow!("{}: expected {}, got {what}", shown_path(&path), recipe.kind);
            let held = HeldDocument::new(read.map_err(expected)?.document());
            vec![(path.as_os_str().to_owned(), held, Vec::new())]
        }
    };
    let vectors = VectorSource::for_model(&args.vectors, recipe, |encoder| {
        documents.iter().try_for_each(|(_, held, _)| encoder.send(&held.view().document().text(recipe)))
    })?;
    let n = documents.len() as u64;
    for (at, (name, held, own)) in (0..).zip(documents) {
        let view = held.view();
        explain(out, args, filter, &name, view.document().with_vector(&vectors.beside(at, own)?))?;
    }
    vectors.conclude(n)
}

/// Explains each row of a table.
fn explain_rows(out: &mut impl Write, args: &ExplainArgs, filter: &Filter) -> Result<()> {
    let Some(path) = args.file.as_ref().filter(|path| path.as_os_str() != "-") else {
        bail!("standard input: expected a .csv, .tsv, .jsonl or .json file, since the model is of tables");
    };
    let source = SourceArg { label: None, path: path.clone() };
    for file in find_tables(&source, None)?.files {
        for TableRow { line, content } in whole_rows(&file, None, TableShape::default())? {
            let name = part(path, line);
            let context = || shown_path(&name);
            let row = content.map_err(anyhow::Error::msg).with_context(context)?;
            let cells = row.named_cells().map_err(anyhow::Error::msg).with_context(context)?;
            explain(out, args, filter, &name, DocumentView::row(&cells).document())?;
        }
    }
    Ok(())
}

fn explain(
    out: &mut impl Write,
    args: &ExplainArgs,
    filter: &Filter,
    name: &OsStr,
    document: Document<'_>,
) -> Result<()> {
    let mut scratch = Scratch::default();
    let mut explanation = filter.explain(document, &mut scratch).with_context(|| shown_path(&name))?;
    say_limits(name, &scratch);
    if let Some(path) = &args.html {
        let model = args.model.own.path()?;
        let title = format!("{} by {}", file_name(name), file_name(model.as_os_str()));
        let words = filter.explain_words(document, &explanation);
        write_page(path, &explanation_page(&title, filter.classes(), &explanation, &words, args.terms))?;
    }
    if args.pieces {
        explanation.terms = explanation.apart();
    }
    let most =
        if args.terms == 0 { explanation.terms.len() } else { args.terms.min(explanation.terms.len()) };
    if args.json {
        print_json(out, filter, name, &explanation, most)
    } else {
        let verdict = DocumentVerdict::new(filter, name, &explanation.score, scratch.labels(), false).line();
        writeln!(out, "{verdict} {}", shown_path(name))?;
        print_table(out, filter, &explanation, most)
    }
}

fn rest_of(terms: &[TermContribution]) -> f64 {
    // Starts from positive zero, so that an empty rest is not -0.
    terms.iter().map(|t| t.contribution).fold(0.0, |sum, c| sum + c)
}

/// Formats a sum. Infinities of both signs, possible only in models without smoothing, give ±inf.
fn nats(sum: f64) -> String {
    if sum.is_nan() { "\u{b1}inf".to_owned() } else { format!("{sum:+.3}") }
}

/// Draws contributions as bars, if there is a terminal with room for them beside the terms and `text` columns.
fn bars(table: &[TermContribution], text: usize) -> impl Fn(f64) -> String {
    let longest = table.iter().map(|term| shown(&term.term).chars().count()).max().unwrap_or_default();
    let beside = Canvas::of_stdout().and_then(|canvas| canvas.beside(text + longest, 25));
    let finite = table.iter().map(|term| term.contribution.abs()).filter(|c| c.is_finite());
    let highest = finite.fold(0.0, f64::max);
    let bar = move |contribution, columns| format!("  {}", signed_bar(contribution / highest, columns));
    move |contribution| beside.map_or_else(String::new, |columns| bar(contribution, columns))
}

fn print_table(out: &mut impl Write, filter: &Filter, explanation: &Explanation, most: usize) -> Result<()> {
    let Explanation { terms, unknown, intercept, .. } = explanation;
    let label = |class| shown(filter.classes().label(class).unwrap_or_default());
    let class = label(explanation.class);
    // a label of many is compared with all documents that do not have it
    let against = if filter.has_many_labels() { "the rest".into() } else { label(explanation.against) };
    writeln!(out, "log-odds of {class} against {against}, in nats:")?;
    let width = |label: &str| label.chars().count().max(6);
    let (for_width, against_width) = (width(&class), width(&against));
    let (table, rest) = terms.split_at(most);
    let drawn = bars(table, 22 + for_width + against_width);
    let room = " ".repeat(drawn(0.0).chars().count());
    writeln!(out, "     adds{room}  count  {class:>for_width$}  {against:>against_width$}  term")?;
    for TermContribution { term, contribution, count, document_frequencies, .. } in table {
        let documents = |class| match class == explanation.class || !filter.has_many_labels() {
            true => grouped(document_frequencies[usize::from(class)]),
            false => String::new(),
        };
        let (bar, count, term) = (drawn(*contribution), grouped((*count).into()), shown(term));
        let [for_it, against] = [explanation.class, explanation.against].map(documents);
        write!(out, "{contribution:>+9.3}{bar}  {count:>5}  {for_it:>for_width$}")?;
        writeln!(out, "  {against:>against_width$}  {term}")?;
    }
    if !rest.is_empty() {
        writeln!(out, "{:>9}  {}", nats(rest_of(rest)), counted(rest.len() as u64, "other term"))?;
    }
    writeln!(out, "{intercept:>+9.3}  before any term")?;
    writeln!(out, "{:>9}  in all", nats(intercept + rest_of(terms)))?;
    if let Some(because) = explanation.because() {
        writeln!(out, "{}", shown(&because))?;
    }
    if *unknown > 0 {
        writeln!(out, "{}  not known to the model", counted(*unknown as u64, "word"))?;
    }
    Ok(())
}

fn print_json(
    out: &mut impl Write,
    filter: &Filter,
    name: &OsStr,
    explanation: &Explanation,
    most: usize,
) -> Result<()> {
    let label = |class| filter.classes().label(class).unwrap_or_default();
    let term = |term: &TermContribution| {
        let documents = filter.classes().iter().zip(&term.document_frequencies);
        let documents = documents.map(|((_, label), df)| (label.to_owned(), json!(df)));
        let documents: serde_json::Map<_, _> = documents.collect();
        json!({"term": term.term, "count": term.count, "documents": documents, "contribution": term.contribution})
    };
    let terms: Vec<_> = explanation.terms[..most].iter().map(term).collect();
    let object = json!({
        "path": to_text(name),
        "label": filter.label_of(&explanation.score),
        "probability": explanation.score.probability,
        "log_odds": explanation.score.log_odds,
        "class": label(explanation.class),
        "against": label(explanation.against),
        "intercept": explanation.intercept,
        "terms": terms,
        "other_terms": explanation.terms.len() - most,
        "other_contribution": rest_of(&explanation.terms[most..]),
        "unknown": explanation.unknown,
        "part": explanation.part,
        "doubt": explanation.score.doubt.map(Doubt::name),
    });
    Ok(writeln!(out, "{}", json_line(object.to_string()))?)
}
