//! `tamis train`

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use tamis_filter::{
    ClassPrior, Classes, Counting, Error, FeatureLimits, Filter, Keep, Kind, Parameters, Smoothing, Terms,
    TokenizerOptions, TrainOptions, Trainer,
};

use crate::args::{BayesArgs, TermArgs, TrainArgs};
use crate::corpus::Corpus;
use crate::output::{counted, grouped};

pub(crate) fn run(args: &TrainArgs) -> Result<u8> {
    let path = args.model.path()?;
    refuse_to_replace_what_is_no_model(&path)?;
    let corpus = Corpus::find(&args.sources, true, &args.input, None)?;
    let (mut options, prior) = options(args, corpus.kind)?;
    let limits = options.recipe.limits;
    let finished = corpus.for_each(
        &limits,
        || Ok(Trainer::new(options.clone())?),
        |trainer, item, document| Ok(trainer.add(item.label.as_deref().unwrap_or_default(), document)?),
        |_, ()| Ok(()),
    )?;
    let mut trainers = finished.states.into_iter();
    let mut trainer = trainers.next().map_or_else(|| Trainer::new(options.clone()), Ok)?;
    for other in trainers {
        trainer.merge(other)?;
    }
    options.parameters.prior = prior.for_classes(trainer.classes())?;
    let documents = trainer.n_documents();
    let model = trainer.with_parameters(options.parameters).finish().map_err(|error| match error {
        Error::TooFewLabels { got, .. } => {
            anyhow::anyhow!("expected documents of at least two labels, got {documents} documents of {got}")
        }
        error => error.into(),
    })?;
    if args.model.model.is_none()
        && let Some(directory) = path.parent()
    {
        std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    model.save(&path)?;
    report(&path, &Filter::from_bytes(model.as_bytes().to_vec())?)?;
    Ok(corpus.conclude(finished.unreadable))
}

/// A slip of the keyboard must not cost a file that has nothing to do with us.
fn refuse_to_replace_what_is_no_model(path: &Path) -> Result<()> {
    if path.is_dir() {
        bail!("{}: expected a model file, got a folder", path.display());
    }
    match Filter::open(path) {
        Err(Error::NotAModel { got }) if !got.is_empty() => {
            bail!("{}: there is a file that is no tamis model; remove it or name another", path.display())
        }
        _ => Ok(()),
    }
}

fn report(path: &Path, filter: &Filter) -> Result<()> {
    let information = filter.information();
    let classes: Vec<_> = information
        .classes
        .iter()
        .zip(information.totals)
        .map(|((_, label), totals)| format!("{} {label}", grouped(totals.documents)))
        .collect();
    let documents = information.totals.iter().map(|t| t.documents).sum();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "learned {} ({}): {}",
        counted(documents, "document"),
        classes.join(", "),
        counted(information.n_terms as u64, "term")
    )?;
    writeln!(out, "wrote {} ({} kB)", path.display(), grouped(information.bytes.div_ceil(1000) as u64))?;
    Ok(())
}

fn options(args: &TrainArgs, kind: Kind) -> Result<(TrainOptions, Prior)> {
    let mut options = TrainOptions::new(kind);
    set_terms(&mut options.recipe.tokenizer, &args.terms)?;
    options.keep = match (args.documents, args.no_documents) {
        (true, _) => Keep::Vectors,
        (_, true) => Keep::Digests,
        _ => options.keep,
    };
    set_parameters(&mut options.parameters, &args.bayes)?;
    Ok((options, Prior::parse(&args.bayes.prior)?))
}

fn set_terms(options: &mut TokenizerOptions, args: &TermArgs) -> Result<()> {
    options.word_rule = args.words.unwrap_or(options.word_rule);
    options.fold_case &= !args.keep_case;
    options.stemmer = args.stem;
    options.min_chars = args.min_chars.unwrap_or(options.min_chars);
    options.max_chars = args.max_chars.unwrap_or(options.max_chars);
    if let Some(path) = &args.stop_words {
        let words = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        options.stop_words = words.split_whitespace().map(str::to_owned).collect();
    }
    options.terms = match (args.ngrams, args.characters) {
        (Some(span), _) => Terms::Words { min: span.min, max: span.max },
        (_, Some(span)) => Terms::Characters { min: span.min, max: span.max },
        _ => options.terms,
    };
    Ok(())
}

fn set_parameters(parameters: &mut Parameters, args: &BayesArgs) -> Result<()> {
    parameters.likelihood = args.likelihood;
    if args.occurrences {
        parameters.counting = Counting::Occurrences;
    }
    if let Some(alpha) = args.alpha {
        parameters.alpha = Smoothing::try_from(alpha).context("--alpha")?;
    }
    parameters.features =
        FeatureLimits { min_df: args.min_df, max_df: args.max_df, max_features: args.max_features };
    Ok(())
}

/// A prior as the user gave it: the labels' order is known only when all were seen.
enum Prior {
    Rule(ClassPrior),
    Given(BTreeMap<String, f64>),
}

impl Prior {
    fn parse(argument: &str) -> Result<Self> {
        Ok(match argument {
            "learned" => Prior::Rule(ClassPrior::Learned),
            "smoothed" => Prior::Rule(ClassPrior::Smoothed),
            "uniform" => Prior::Rule(ClassPrior::Uniform),
            _ => {
                let pair = |pair: &str| {
                    let (label, p) = pair.rsplit_once('=')?;
                    Some((label.to_owned(), p.parse().ok()?))
                };
                let pairs = argument.split(',').map(pair).collect::<Option<_>>();
                Prior::Given(pairs.with_context(|| {
                    format!(
                        "--prior: expected learned, smoothed, uniform or LABEL=P,LABEL=P, got {argument:?}"
                    )
                })?)
            }
        })
    }

    fn for_classes(self, classes: &Classes) -> Result<ClassPrior> {
        match self {
            Prior::Rule(prior) => Ok(prior),
            Prior::Given(mut given) => {
                let take = |(_, label)| {
                    given.remove(label).with_context(|| format!("--prior: expected a share for {label:?}"))
                };
                let shares = classes.iter().map(take).collect::<Result<_>>()?;
                match given.into_keys().next() {
                    None => Ok(ClassPrior::Given(shares)),
                    Some(label) => bail!("--prior: expected labels of the documents, got {label:?}"),
                }
            }
        }
    }
}
