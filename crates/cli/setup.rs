//! Arguments made into the library's settings.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use tamis_filter::{
    ClassPrior, Classes, Column, ColumnKind, Counting, Decision, DecisionOptions, ExpectationMaximization,
    Filter, Kind, Likelihood, Mixed, Pairs, Parameters, Recipe, Scoring, Smoothing, Terms, TokenizerOptions,
    TrainOptions, Trainer, WeightedOptions, positive_class,
};

use crate::args::{DecisionArgs, Estimate, LikelihoodName, RecipeArgs, ScoringArgs, Switch, VerdictArgs};
use crate::output::say;
use crate::shown::shown_path;

/// How documents become terms.
pub(crate) fn recipe(args: &RecipeArgs, kind: Kind) -> Result<Recipe> {
    let mut recipe = Recipe::new(kind);
    if kind != Kind::Mail && (args.content_only || !args.ignore_header.is_empty()) {
        bail!("--content-only and --ignore-header: expected mail, got {kind}");
    }
    recipe.content_only = args.content_only;
    recipe.windows = args.windows;
    recipe.ignored_headers = args.ignore_header.clone();
    set_terms(&mut recipe.tokenizer, args)?;
    Ok(recipe)
}

/// Windows are looked at by one scoring only, and of two labels.
pub(crate) fn check_windows(recipe: &Recipe, scoring: &Scoring, n_labels: usize) -> Result<()> {
    let heeds = recipe.kind != Kind::Table && matches!(scoring, Scoring::Weighted(_)) && n_labels == 2;
    if recipe.windows.is_none() || heeds {
        return Ok(());
    }
    bail!("--windows: expected mail or text of two labels and weighted scoring")
}

fn set_terms(options: &mut TokenizerOptions, args: &RecipeArgs) -> Result<()> {
    options.word_rule = args.words.unwrap_or(options.word_rule);
    options.fold_case &= !args.keep_case;
    options.stemmer = args.stem;
    options.min_chars = args.min_chars.unwrap_or(options.min_chars);
    options.max_chars = args.max_chars.unwrap_or(options.max_chars);
    if let Some(path) = &args.stop_words {
        let words = std::fs::read_to_string(path).with_context(|| shown_path(path))?;
        options.stop_words = words.split_whitespace().map(str::to_owned).collect();
    }
    options.terms = match (args.ngrams, args.characters) {
        (Some(span), _) => Terms::Words { min: span.min, max: span.max },
        (_, Some(span)) => Terms::Characters { min: span.min, max: span.max },
        _ => options.terms,
    };
    Ok(())
}

/// What can be settled before the labels are known.
pub(crate) fn train_options(
    recipe_args: &RecipeArgs,
    scoring_args: &ScoringArgs,
    kind: Kind,
) -> Result<TrainOptions> {
    let mut options = TrainOptions::new(kind);
    options.recipe = recipe(recipe_args, kind)?;
    if recipe_args.ngrams.is_some() {
        options.pairs = Pairs::Fixed;
    }
    if !scoring_args.asks_for_naive_bayes() {
        // before all documents are read
        scoring_args.weighted()?;
    } else {
        options.scoring = Some(Scoring::NaiveBayes(Scoring::parameters()));
    }
    Ok(options)
}

/// Says what was chosen where pairs of words are terms that were not asked for.
pub(crate) fn say_chosen_terms(asked: &TrainOptions, got: &Recipe) {
    if got.tokenizer.terms != asked.recipe.tokenizer.terms {
        say!("words and pairs of words, chosen by what predicts left-out documents best");
    }
}

impl ScoringArgs {
    fn asks_for_naive_bayes(&self) -> bool {
        self.likelihood.is_some_and(|name| name != LikelihoodName::Weighted)
    }

    /// Makes sure that no option of naive Bayes is given without asking for naive Bayes.
    pub(crate) fn check(&self) -> Result<()> {
        let options = [
            ("--occurrences", self.occurrences),
            ("--class-prior", self.class_prior.is_some()),
            ("--min-df", self.min_df.is_some()),
            ("--max-df", self.max_df.is_some()),
            ("--max-features", self.max_features.is_some()),
            ("--select", self.select.is_some()),
            ("--estimate", self.estimate.is_some()),
        ];
        match options.iter().find(|(_, given)| *given) {
            Some((option, _)) if !self.asks_for_naive_bayes() => bail!(
                "{option}: expected naive Bayes, got weighted scoring, the default; add --likelihood multinomial (or \
                 bernoulli, complement ...) to train naive Bayes, or leave {option} out"
            ),
            _ => Ok(()),
        }
    }

    /// The scoring asked for, now that the labels are known.
    pub(crate) fn scoring(&self, classes: &Classes) -> Result<Scoring> {
        self.check()?;
        if !self.asks_for_naive_bayes() {
            return Ok(Scoring::Weighted(self.weighted()?));
        }
        let alpha = self.smoothing_asked()?;
        let of_weighted = [
            ("--correction", self.correction.is_some()),
            ("--idf-power", self.idf_power.is_some()),
            ("--regularisation", self.regularisation.is_some()),
        ];
        if let Some((option, _)) = of_weighted.iter().find(|(_, given)| *given) {
            bail!("{option}: expected weighted scoring");
        }
        if self.occurrences && self.likelihood == Some(LikelihoodName::Bernoulli) {
            bail!("--occurrences: expected another likelihood than bernoulli, which is of presence");
        }
        Ok(Scoring::NaiveBayes(self.parameters(alpha, classes)?))
    }

    fn weighted(&self) -> Result<WeightedOptions> {
        let default = WeightedOptions::default();
        let regularisation = self.regularisation.unwrap_or(default.regularisation);
        WeightedOptions { idf_power: self.idf_power, ..default }.check().context("--idf-power")?;
        WeightedOptions { regularisation, ..default }.check().context("--regularisation")?;
        if self.correction == Some(Switch::Off) && self.regularisation.is_some() {
            bail!(
                "--regularisation: expected none beside --correction off, which leaves nothing to regularise"
            );
        }
        Ok(WeightedOptions {
            alpha: self.smoothing_asked()?,
            idf_power: self.idf_power,
            correction: self.correction != Some(Switch::Off),
            regularisation,
            ..default
        })
    }

    /// The mixed naive Bayes asked for, of a table.
    pub(crate) fn mixed(&self, trainer: &Trainer) -> Result<Scoring> {
        let ScoringArgs { estimate, class_prior: prior, .. } = self.clone();
        if (ScoringArgs { estimate, class_prior: prior, alpha: self.alpha, ..Default::default() }) != *self {
            bail!("beside --alpha, --estimate and --class-prior: expected no options of scoring for a table");
        }
        let is_smoothed = |c: &Column| matches!(c.kind, ColumnKind::Categorical | ColumnKind::Bernoulli);
        if (self.alpha.is_some() || estimate.is_some()) && !trainer.recipe().columns.iter().any(is_smoothed) {
            bail!("--alpha and --estimate: expected a categorical or bernoulli column, which they are for");
        }
        let mut mixed = Mixed::default();
        match self.alpha {
            None if self.estimate == Some(Estimate::Ml) => mixed.alpha = Smoothing::maximum_likelihood(),
            None => (),
            Some(alpha) => mixed.alpha = self.smoothing(alpha).context("--alpha")?,
        }
        if let Some(prior) = &self.class_prior {
            mixed.prior = class_prior(prior, trainer.classes())?;
        }
        Ok(Scoring::Mixed(mixed))
    }

    /// Expectation maximization, asked for by documents without a label.
    pub(crate) fn expectation_maximization(
        &self,
        lambda: Option<f64>,
        iterations: Option<usize>,
        trainer: &Trainer,
    ) -> Result<Scoring> {
        let allowed = ScoringArgs {
            likelihood: self.likelihood,
            alpha: self.alpha,
            class_prior: self.class_prior.clone(),
            ..ScoringArgs::default()
        };
        if *self != allowed {
            bail!("--unlabelled: expected no more than --likelihood, --alpha and --class-prior beside it");
        }
        let documents = trainer.n_documents() + trainer.n_unlabelled();
        let mut settings = ExpectationMaximization::for_documents(documents);
        match self.likelihood {
            None | Some(LikelihoodName::Multinomial) => (),
            Some(LikelihoodName::Bernoulli) => settings.options.likelihood = Likelihood::Bernoulli,
            Some(_) => bail!("--unlabelled: expected a multinomial or bernoulli likelihood"),
        }
        if let Some(alpha) = self.alpha {
            settings.options.alpha = Smoothing::try_from(alpha).context("--alpha")?;
        }
        if let Some(prior) = &self.class_prior {
            settings.options.prior = class_prior(prior, trainer.classes())?;
        }
        settings.options.lambda = lambda.unwrap_or(settings.options.lambda);
        settings.options.max_iterations = iterations.unwrap_or(settings.options.max_iterations);
        Ok(Scoring::ExpectationMaximization(settings))
    }

    fn smoothing_asked(&self) -> Result<Option<Smoothing>> {
        self.alpha.map(|alpha| self.smoothing(alpha).context("--alpha")).transpose()
    }

    /// What `--alpha` means to `--estimate`.
    fn smoothing(&self, alpha: f64) -> Result<Smoothing> {
        match self.estimate {
            None | Some(Estimate::Mean) => Ok(Smoothing::try_from(alpha)?),
            Some(Estimate::Map) => Ok(Smoothing::map(alpha)?),
            Some(Estimate::Ml) => bail!("expected none beside --estimate ml, which smooths nothing"),
        }
    }

    fn parameters(&self, alpha: Option<Smoothing>, classes: &Classes) -> Result<Parameters> {
        let mut parameters = Scoring::parameters();
        parameters.likelihood = match self.likelihood {
            Some(LikelihoodName::Bernoulli) => Likelihood::Bernoulli,
            Some(LikelihoodName::Complement) => Likelihood::Complement,
            Some(LikelihoodName::ComplementNormalized) => Likelihood::ComplementNormalized,
            Some(LikelihoodName::Multinomial | LikelihoodName::Weighted) | None => Likelihood::Multinomial,
        };
        if self.estimate == Some(Estimate::Ml) {
            parameters.alpha = Smoothing::maximum_likelihood();
        }
        parameters.features.select = self.select.map(|selection| selection.0);
        if self.occurrences {
            parameters.counting = Counting::Occurrences;
        }
        parameters.alpha = alpha.unwrap_or(parameters.alpha);
        parameters.features.min_df = self.min_df.unwrap_or(parameters.features.min_df);
        parameters.features.max_df = self.max_df;
        parameters.features.max_features = self.max_features;
        if let Some(prior) = &self.class_prior {
            parameters.prior = class_prior(prior, classes)?;
        }
        Ok(parameters)
    }
}

fn class_prior(argument: &str, classes: &Classes) -> Result<ClassPrior> {
    let pair = |pair: &str| {
        let (label, share) = pair.rsplit_once('=')?;
        Some((label.to_owned(), share.parse::<f64>().ok()?))
    };
    let mut given: BTreeMap<String, f64> = match argument {
        "learned" => return Ok(ClassPrior::Learned),
        "smoothed" => return Ok(ClassPrior::Smoothed),
        "uniform" => return Ok(ClassPrior::Uniform),
        _ => argument.split(',').map(pair).collect::<Option<_>>().with_context(|| {
            format!("--class-prior: expected learned, smoothed, uniform or LABEL=P,LABEL=P, got {argument:?}")
        })?,
    };
    let mut take = |label: &str| {
        given.remove(label).with_context(|| format!("--class-prior: expected a share for {label:?}"))
    };
    let shares = classes.iter().map(|(_, label)| take(label)).collect::<Result<_>>()?;
    match given.into_keys().next() {
        None => Ok(ClassPrior::Given(shares)),
        Some(label) => bail!("--class-prior: expected labels of the documents, got {label:?}"),
    }
}

impl VerdictArgs {
    /// Changes how an open filter decides.
    pub(crate) fn apply(&self, filter: &mut Filter) -> Result<()> {
        if let Some(label) = &self.spam_label {
            filter.set_spam_label(label).context("--spam-label")?;
        }
        self.decision.apply(filter)
    }

    /// Whether nothing is asked that only a model can do.
    pub(crate) fn is_for_held_out(&self) -> bool {
        self.decision.is_empty()
    }
}

impl DecisionArgs {
    fn is_empty(&self) -> bool {
        self.prior.is_none() && self.cost.is_none()
    }

    /// What is asked of decisions at training time.
    pub(crate) fn options(&self, classes: &Classes, max_fpr: Option<f64>) -> Result<DecisionOptions> {
        let cost = self.cost.map(|cost| cost.0);
        Ok(DecisionOptions { max_fpr, cost, prior: self.positive_share(classes)?, unsure: self.unsure })
    }

    fn apply(&self, filter: &mut Filter) -> Result<()> {
        if let Some(probability) = self.unsure {
            filter.set_unsure(probability)?;
        }
        if self.is_empty() {
            return Ok(());
        }
        if !matches!(filter.information().scoring, Scoring::Weighted(_)) || filter.classes().len() != 2 {
            bail!("--prior and --cost: expected a model of two labels with weighted scoring");
        }
        let mut decision: Decision = filter.decision();
        if let Some(share) = self.positive_share(filter.classes())? {
            // log-odds are at the share of the shared model, if there is one
            let calibrated: &Filter = filter.fallback().map_or(filter, |shared| shared);
            let information = calibrated.information();
            let all: u64 = information.totals.iter().map(|t| t.documents).sum();
            let positive = information.totals[usize::from(positive_class(filter.classes()))].documents;
            decision = decision.expecting(share, positive as f64 / all as f64)?;
        }
        if let Some(cost) = self.cost {
            let is_mirrored =
                filter.is_spam_filter() && filter.spam() != Some(positive_class(filter.classes()));
            let seen_by_ham = |decision: Decision| if is_mirrored { decision.mirrored() } else { decision };
            decision = seen_by_ham(seen_by_ham(decision).costing(cost.0)?);
        }
        filter.set_decision(decision);
        Ok(())
    }

    /// The share to expect of the class that is looked for.
    fn positive_share(&self, classes: &Classes) -> Result<Option<f64>> {
        let Some(argument) = &self.prior else { return Ok(None) };
        let parsed =
            argument.rsplit_once('=').and_then(|(label, share)| Some((label, share.parse::<f64>().ok()?)));
        let Some((label, share)) = parsed.filter(|(_, share)| *share > 0.0 && *share < 1.0) else {
            bail!("--prior: expected LABEL=SHARE with a share between 0 and 1, got {argument:?}");
        };
        let class = classes.index(label).filter(|_| classes.len() == 2);
        let class = class.with_context(|| format!("--prior: expected one of two labels, got {label:?}"))?;
        Ok(Some(if class == positive_class(classes) { share } else { 1.0 - share }))
    }
}
