//! Facts about a model, as text and as JSON.

use std::io::Write;

use anyhow::Result;
use serde_json::json;
use tamis_program::{counted, grouped, shown};
use tamis_train::information::{
    Choices, MixedChoices, ModelSelection, Moments, PartsTrial, SmoothingTrial, TauTrial, Teacher,
    TriedRefinement, Trust, Unlabelled,
};
use tamis_train::options::{
    ClassPrior, Column, ColumnKind, EmOptions, Mixed, Ngrams, Parameters, PieceLengths, RobinsonFisher,
    TokenizerOptions, VectorSpace, WeightedOptions,
};
use tamis_train::{Decision, Filter, Information, Keep, Recipe, Scoring, TermContribution, positive_class};

use crate::output::{Canvas, bar};

pub(crate) fn print_facts(out: &mut impl Write, canvas: Option<Canvas>, filter: &Filter) -> Result<()> {
    let information = filter.information();
    let Information { recipe, classes, totals, documents, .. } = &information;
    writeln!(out, "kind        {} (recipe {})", recipe.kind, recipe.version)?;
    if let Some(target) = &recipe.target {
        let columns = recipe.columns.iter().map(|column| format!("{} {}", shown(&column.name), column.kind));
        writeln!(out, "target      {}", shown(target))?;
        writeln!(out, "columns     {}", columns.collect::<Vec<_>>().join(", "))?;
    }
    let markup = if recipe.raw { ", HTML with its tags" } else { "" };
    let pieces = match recipe.pieces {
        Some(PieceLengths { min, max }) if min == max => format!(", pieces of {min} characters"),
        Some(PieceLengths { min, max }) => format!(", pieces of {min} to {max} characters"),
        None => String::new(),
    };
    match recipe.bogofilter {
        true => writeln!(out, "terms       bogofilter's tokens")?,
        false => writeln!(out, "terms       {}{pieces}{markup}", describe(&recipe.tokenizer))?,
    }
    print_scoring(out, filter)?;
    let remembered =
        if information.stored.keep == Keep::Vectors { "with their terms" } else { "by their digests" };
    let names = if information.stored.names { " and names" } else { "" };
    let [learned, distinct] = [*documents, information.size.documents as u64].map(grouped);
    writeln!(out, "documents   {learned} learned, {distinct} distinct ones remembered {remembered}{names}")?;
    let (terms, used) = (counted(information.size.terms as u64, "term"), grouped(information.size.features));
    writeln!(out, "vocabulary  {terms}, {used} of them used")?;
    let since = match (information.file.segments as u64, information.file.log_bytes as u64) {
        (0, 0) => String::new(),
        (0, log) => format!(", of which {} of log", grouped(log)),
        (segments, log) => format!(", with {} and {} of log", counted(segments, "segment"), grouped(log)),
    };
    writeln!(out, "size        {} bytes{since}", grouped(information.file.bytes as u64))?;
    writeln!(out)?;
    let width = classes.iter().map(|(_, label)| shown(label).chars().count()).max().unwrap_or(0).max(5);
    writeln!(out, "{:<width$}  {:>10}  {:>12}  {:>14}", "label", "documents", "terms in all", "occurrences")?;
    let beside = canvas.and_then(|canvas| canvas.beside(width + 42, 20));
    let most = totals.iter().map(|totals| totals.documents).max().unwrap_or_default();
    for ((_, label), totals) in classes.iter().zip(totals.iter()) {
        let drawn = |columns| format!("  {}", bar(totals.documents as f64 / most as f64, columns));
        let drawn = beside.map_or(String::new(), drawn);
        let [documents, df, tf] = [totals.documents, totals.df, totals.tf].map(grouped);
        writeln!(out, "{:<width$}  {documents:>10}  {df:>12}  {tf:>14}{drawn}", shown(label))?;
    }
    Ok(())
}

/// The mean and deviation of each real column of a table in every class.
fn reals<'a>(information: &Information<'a>) -> Vec<(&'a str, Vec<(&'a str, Moments)>)> {
    let columns = information.recipe.columns.iter().filter(|column| column.kind == ColumnKind::Gaussian);
    let moments = |feature| {
        let of = |(class, label)| Some((label, *information.table?.reals.moments(feature, class)?));
        information.classes.iter().filter_map(of).collect()
    };
    columns.enumerate().map(|(feature, column)| (column.name.as_str(), moments(feature))).collect()
}

pub(crate) fn print_reals(out: &mut impl Write, information: &Information<'_>) -> Result<()> {
    for (name, classes) in reals(information) {
        writeln!(out, "\n{:>14}  {:>14}  {}", "mean", "deviation", shown(name))?;
        for (label, moments) in classes {
            writeln!(out, "{:>14.6}  {:>14.6}  {}", moments.mean(), moments.variance().sqrt(), shown(label))?;
        }
    }
    Ok(())
}

fn print_scoring(out: &mut impl Write, filter: &Filter) -> Result<()> {
    let information = filter.information();
    match information.scoring {
        Scoring::NaiveBayes(parameters) => {
            let Parameters { likelihood, counting, alpha, .. } = parameters;
            writeln!(out, "likelihood  {likelihood}, {counting}, alpha {}", alpha.alpha())?;
            writeln!(out, "prior       {}", describe_prior(&parameters.prior))?;
        }
        Scoring::Mixed(mixed) => {
            let Mixed { alpha, text_alpha, var_smoothing, .. } = mixed;
            let alphas = format!("alpha {}, of text {}", alpha.alpha(), text_alpha.alpha());
            writeln!(out, "likelihood  mixed, {alphas}, variance smoothing {var_smoothing:e}")?;
            writeln!(out, "prior       {}", describe_prior(&mixed.prior))?;
            if let Some(table) = information.table {
                print_mixed(out, &information.recipe.columns, &table.chosen)?;
            }
        }
        Scoring::ExpectationMaximization(settings) => {
            let EmOptions { likelihood, alpha, lambda, .. } = &settings.options;
            let without = information.totals.last().map_or(0, |t| t.documents);
            writeln!(out, "likelihood  {likelihood} by expectation maximization, alpha {}", alpha.alpha())?;
            writeln!(out, "unlabelled  {}, weight {lambda}", counted(without, "document"))?;
            writeln!(out, "prior       {}", describe_prior(&settings.options.prior))?;
        }
        Scoring::Weighted(options) => {
            if let Some(chosen) = information.chosen {
                let has_parts = filter.spam().is_some_and(|_| filter.classes().len() == 2);
                print_chosen(out, &options, chosen, information.recipe, has_parts)?;
            }
            print_decision(out, filter)?;
        }
        Scoring::RobinsonFisher(RobinsonFisher { robs, robx, min_dev }) => {
            let options = format!("robs {robs}, robx {robx}, min_dev {min_dev}");
            writeln!(out, "likelihood  Robinson and Fisher's, as bogofilter's, {options}")?;
            print_decision(out, filter)?;
        }
    }
    Ok(())
}

/// Prints how the model of a table departs from the textbook.
fn print_mixed(out: &mut impl Write, columns: &[Column], chosen: &MixedChoices) -> Result<()> {
    let MixedChoices { shrinkage, trust: Trust { reals, categories, texts }, losses, .. } = *chosen;
    let Some([textbook, chosen]) = losses else { return Ok(()) };
    let has = |kinds: &[ColumnKind]| columns.iter().any(|column| kinds.contains(&column.kind));
    let shared = 100.0 * shrinkage;
    let powers = [
        (&[ColumnKind::Gaussian][..], format!("{reals:.4} numbers ({shared:.0} % of variances shared)")),
        (&[ColumnKind::Categorical, ColumnKind::Bernoulli], format!("{categories:.4} categories")),
        (&[ColumnKind::Text], format!("{texts:.4} texts")),
    ];
    let powers: Vec<_> = powers.into_iter().filter(|(kinds, _)| has(kinds)).map(|(_, text)| text).collect();
    writeln!(out, "powers      {}", powers.join(", "))?;
    Ok(writeln!(out, "log loss    {chosen:.4} of held-out rows, {textbook:.4} by the textbook (nats)")?)
}

/// Prints the thresholds between two labels.
fn print_decision(out: &mut impl Write, filter: &Filter) -> Result<()> {
    if filter.classes().len() != 2 {
        return Ok(());
    }
    let (classes, Decision { shift, upper, lower, .. }) = (filter.classes(), filter.decision());
    let positive = shown(classes.label(positive_class(classes)).unwrap_or_default());
    let unsure = if lower < upper { format!(", unsure above {lower:+.3}") } else { String::new() };
    let shift = if shift == 0.0 { String::new() } else { format!(", after {shift:+.3} for the prior") };
    Ok(writeln!(out, "decision    {positive} above {upper:+.3}{unsure}{shift} (log-odds in nats)")?)
}

/// Prints the choices of weighted scoring, and the losses that decided them.
fn print_chosen(
    out: &mut impl Write,
    options: &WeightedOptions,
    chosen: &ModelSelection,
    recipe: &Recipe,
    has_parts: bool,
) -> Result<()> {
    let Choices { alpha, idf_power, tau, strength, .. } = chosen.choices;
    let Choices { stack: [counts, correction, columns, vector, offset], parts: [less, each], .. } =
        *chosen.in_use();
    let c = format!("on (C {})", options.regularisation);
    writeln!(out, "likelihood  weighted, correction {}", if options.correction { &c } else { "off" })?;
    let given = |is_given| if is_given { " (given)" } else { "" };
    let [of_alpha, of_power] = [options.alpha.is_some(), options.idf_power.is_some()].map(given);
    writeln!(out, "smoothing   alpha {}{of_alpha}, idf power {idf_power}{of_power}", alpha.alpha())?;
    print_why(out, options, chosen)?;
    for (at, tried) in chosen.refinements.iter().enumerate() {
        let (title, verdict) =
            (["tried", ""][at.min(1)], ["left out", "taken"][usize::from(tried.is_chosen())]);
        let TriedRefinement { refinement, with, without, .. } = tried;
        let name = refinement.name();
        writeln!(out, "{title:11} {name}: log loss {with:.4}, {without:.4} without; {verdict}")?;
    }
    if let Some(unlabelled) = &chosen.unlabelled {
        print_unlabelled(out, unlabelled)?;
    }
    if options.correction {
        let of = |of: &TauTrial| (of.tau == tau, format!("{:.4} on {}", of.loss, of.tau));
        let (own, others): (Vec<_>, Vec<_>) = chosen.taus.iter().map(of).partition(|(is_own, _)| *is_own);
        let losses: Vec<_> = own.into_iter().chain(others).map(|(_, loss)| loss).collect();
        let losses = losses.join(", ");
        let why = if losses.is_empty() { losses } else { format!(": held-out log loss {losses}") };
        writeln!(out, "correction  on {tau} of the counts{why}")?;
        let since = if chosen.refitted.is_some() { " (refitted to what was learned since)" } else { "" };
        let beside =
            [(recipe.has_other_columns(), columns, "columns"), (recipe.vectors.is_some(), vector, "vector")];
        let beside = beside.iter().filter(|(is_there, ..)| *is_there);
        let beside: String = beside.map(|(_, weight, name)| format!(" {weight:+.4} {name}")).collect();
        writeln!(
            out,
            "log-odds    {counts:.4} counts {correction:+.4} correction{beside} {offset:+.4}{since}"
        )?;
    }
    if let Some(VectorSpace { dimensions, encoder }) = &recipe.vectors {
        let by = if encoder.is_empty() { String::new() } else { format!(" by {}", shown(encoder)) };
        writeln!(out, "vectors     {dimensions} dimensions{by}, prior of strength {strength}")?;
    }
    if let Some(parts) = chosen.parts {
        print_parts(out, options, parts, recipe)?;
    }
    if has_parts {
        writeln!(out, "parts       the worst of n, less {less:.4} and {each:.4} ln n")?;
    }
    Ok(())
}

/// Prints how well class shares, counts and correction predict held-out documents, and how far each is trusted.
fn print_parts(
    out: &mut impl Write,
    options: &WeightedOptions,
    parts: PartsTrial,
    recipe: &Recipe,
) -> Result<()> {
    let PartsTrial { shares, counts, correction, columns, vectors, belief, belief_in_ratio, .. } = parts;
    writeln!(out, "held out    log loss {shares:.4} by class shares alone, {counts:.4} by counts alone")?;
    if options.correction {
        let ratio = 100.0 * belief_in_ratio;
        writeln!(out, "            {correction:.4} by both, their ratio fitted to {ratio:.1} %")?;
    }
    if recipe.has_other_columns() {
        writeln!(out, "            {columns:.4} with the columns that are not text too")?;
    }
    if recipe.vectors.is_some() {
        writeln!(out, "            {vectors:.4} with the vectors too")?;
    }
    writeln!(out, "            believed to {:.1} %", 100.0 * belief)?;
    Ok(())
}

/// Prints how unlabelled documents were used, and the losses that decided it.
fn print_unlabelled(out: &mut impl Write, unlabelled: &Unlabelled) -> Result<()> {
    let documents = counted(unlabelled.documents, "document");
    let name = |teacher| match teacher {
        None => "left out",
        Some(Teacher::LabelsAlone) => "labelled by a model of the others",
        Some(Teacher::ExpectationMaximization) => "labelled by expectation maximization",
    };
    writeln!(out, "unlabelled  {documents}, {}", name(unlabelled.teacher))?;
    if unlabelled.tried.is_empty() {
        writeln!(out, "            too few labelled documents to choose by")?;
    }
    for tried in &unlabelled.tried {
        writeln!(out, "            held-out log loss {:.4} if {}", tried.loss, name(tried.teacher))?;
    }
    Ok(())
}

/// Prints why the smoothing was chosen.
fn print_why(out: &mut impl Write, options: &WeightedOptions, chosen: &ModelSelection) -> Result<()> {
    let Choices { alpha, idf_power, .. } = chosen.choices;
    let losses = || chosen.smoothing.iter().map(|tried| tried.loss);
    let (best, worst) = (losses().fold(f64::INFINITY, f64::min), losses().fold(0.0, f64::max));
    let own = chosen.smoothing.iter().find(|tried| (tried.alpha, tried.idf_power) == (alpha, idf_power));
    match (own, losses().count()) {
        (None, _) if options.alpha.is_some() && options.idf_power.is_some() => (),
        (None, _) => writeln!(out, "            too few documents to choose by")?,
        (Some(SmoothingTrial { loss, .. }), 1) => {
            writeln!(out, "            log loss of left-out documents {loss:.4}")?
        }
        (Some(SmoothingTrial { loss, .. }), n) => {
            writeln!(out, "            the best of {n} tried on left-out documents:")?;
            writeln!(out, "            log loss {loss:.4}; of all tried {best:.4} to {worst:.4}")?;
        }
    }
    Ok(())
}

fn describe_prior(prior: &ClassPrior) -> String {
    match prior {
        ClassPrior::Learned => "learned".to_owned(),
        ClassPrior::Smoothed => "smoothed".to_owned(),
        ClassPrior::Uniform => "uniform".to_owned(),
        ClassPrior::Given(shares) => shares.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn describe(options: &TokenizerOptions) -> String {
    let mut words = vec![match options.terms {
        Ngrams::Words { max: 1, .. } => format!("{} words", options.word_rule),
        Ngrams::Words { min, max } => format!("{} words, sequences of {min} to {max}", options.word_rule),
        Ngrams::Characters { min, max } => format!("sequences of {min} to {max} characters"),
    }];
    words.extend(options.ends.then(|| "ends of texts".to_owned()));
    words.extend(options.signs.then(|| "signs".to_owned()));
    words.push(if options.fold_case { "case folded" } else { "case kept" }.to_owned());
    words.extend(options.stemmer.map(|language| format!("stems of {language}")));
    if !options.stop_words.is_empty() {
        words.push(counted(options.stop_words.len() as u64, "stop word"));
    }
    words.push(format!("{} to {} characters", options.min_chars, options.max_chars));
    words.join(", ")
}

pub(crate) fn print_terms(
    out: &mut impl Write,
    canvas: Option<Canvas>,
    filter: &Filter,
    most: usize,
) -> Result<()> {
    if most == 0 {
        return Ok(());
    }
    for (class, label) in filter.classes().iter() {
        writeln!(out, "\nstrongest terms of {}", shown(label))?;
        let terms = filter.strongest_terms(class, most)?;
        let longest = terms.iter().map(|term| shown(&term.term).chars().count()).max().unwrap_or_default();
        let beside = canvas.and_then(|canvas| canvas.beside(22 + longest, 20));
        let highest = terms.first().map_or(0.0, |term| term.contribution);
        for TermContribution { term, contribution, document_frequencies, .. } in &terms {
            let documents = grouped(document_frequencies[usize::from(class)]);
            let drawn = |columns| format!("  {}", bar(contribution / highest, columns));
            let bar = beside.map_or(String::new(), drawn);
            writeln!(out, "{contribution:>+9.3}{bar}  in {documents:>6}  {}", shown(term))?;
        }
    }
    Ok(())
}

pub(crate) fn describe_json(path: &str, filter: &Filter, most: usize) -> Result<serde_json::Value> {
    let information = filter.information();
    let mut classes = Vec::new();
    for ((class, label), totals) in filter.classes().iter().zip(information.totals.iter()) {
        let terms = if most == 0 { Vec::new() } else { filter.strongest_terms(class, most)? };
        let term = |term: TermContribution| json!({"term": term.term, "weight": term.contribution});
        let terms: Vec<_> = terms.into_iter().map(term).collect();
        classes.push(json!({"label": label, "totals": totals, "strongest_terms": terms}));
    }
    let of_class = |(label, moments): &(&str, Moments)| {
        let (n, mean, deviation) = (moments.n(), moments.mean(), moments.variance().sqrt());
        json!({"label": label, "rows": n, "mean": mean, "standard_deviation": deviation})
    };
    let column = |(name, classes): &(&str, Vec<_>)| {
        let classes: Vec<_> = classes.iter().map(of_class).collect();
        json!({"column": name, "classes": classes})
    };
    let numbers: Vec<_> = reals(&information).iter().map(column).collect();
    Ok(json!({
        "path": path,
        "recipe": information.recipe,
        "missing": information.table.map_or(&[][..], |table| &table.missing),
        "numbers": numbers,
        "table": information.table.map(|table| &table.chosen),
        "scoring": information.scoring,
        "decision": filter.decision(),
        "chosen": information.chosen,
        "expected": information.expected,
        "classes": classes,
        "terms": information.size.terms,
        "features": information.size.features,
        "remembered": {"documents": information.size.documents, "keep": information.stored.keep, "names": information.stored.names},
        "bytes": information.file.bytes,
        "log_bytes": information.file.log_bytes,
        "segments": information.file.segments,
    }))
}
