use super::*;

fn columns(kinds: &[ColumnKind]) -> Recipe {
    let columns = kinds.iter().map(|kind| Column::new(kind.to_string(), *kind)).collect();
    Recipe { columns, ..Recipe::new(Kind::Table) }
}

fn likelihood(name: &str) -> ScoringOptions {
    ScoringOptions { likelihood: Some(name.parse().unwrap()), ..Default::default() }
}

type Set = fn(&mut ScoringOptions);

/// The options that only some scorings have, each with a value set.
const GIVEN: [(&str, Set); 11] = [
    ("alpha", |options| options.alpha = Some(2.0)),
    ("estimate", |options| options.estimate = Some(Estimate::Map)),
    ("class_prior", |options| options.class_prior = Some(PriorOption::Rule(ClassPrior::Uniform))),
    ("occurrences", |options| options.occurrences = true),
    ("min_df", |options| options.min_df = Some(2)),
    ("max_df", |options| options.max_df = Some(0.5)),
    ("max_features", |options| options.max_features = Some(9)),
    ("select", |options| options.select = Some("chi2=9".parse().unwrap())),
    ("idf_power", |options| options.idf_power = Some(1.0)),
    ("correction", |options| options.correction = Some(false)),
    ("regularisation", |options| options.regularisation = Some(1.0)),
];

fn two() -> Classes {
    Classes::new(["ham", "spam"]).unwrap()
}

fn error(options: &ScoringOptions, recipe: &Recipe) -> String {
    let error = options.scoring(recipe, &two(), 10).unwrap_err();
    // the same as before documents are counted, unless it depends on the labels
    let mut train = TrainOptions { recipe: recipe.clone(), ..TrainOptions::new(recipe.kind) };
    if let Err(before) = train.prepare(options) {
        assert_eq!(before.to_string(), error.to_string());
    }
    error.to_string()
}

#[test]
fn every_scoring_has_its_own_options() {
    use ColumnKind::*;
    let text = Recipe::new(Kind::Text);
    for (name, set) in GIVEN {
        let is_weighted = ["idf_power", "correction", "regularisation"].contains(&name);
        let is_prior = name == "class_prior";
        let check = |mut options: ScoringOptions, recipe: &Recipe, is_allowed: bool| {
            set(&mut options);
            match options.scoring(recipe, &two(), 10) {
                Ok(_) => assert!(is_allowed, "{name}"),
                Err(error) => {
                    let named = error.to_string().starts_with(&format!("{name}: expected "));
                    assert!(!is_allowed && named, "{name}: {error}");
                }
            }
        };
        let plain = ScoringOptions::default();
        check(likelihood("weighted"), &text, is_weighted || name == "alpha");
        check(plain.clone(), &columns(&[Text]), is_weighted || name == "alpha");
        check(likelihood("complement"), &text, !is_weighted);
        let of_tables = is_prior || name == "correction";
        check(plain.clone(), &columns(&[Bernoulli]), of_tables || ["alpha", "estimate"].contains(&name));
        check(plain.clone(), &columns(&[Gaussian]), of_tables);
        let unlabelled = ScoringOptions { unlabelled: true, lambda: Some(0.5), ..plain };
        check(unlabelled, &text, is_prior || name == "alpha");
    }
    let error = error(&likelihood("weighted"), &columns(&[Bernoulli]));
    assert!(error.starts_with("likelihood: expected none for a table"), "{error}");
}

#[test]
fn values_out_of_range_are_refused_by_name() {
    let text = Recipe::new(Kind::Text);
    let weighted = |idf_power, correction, regularisation| ScoringOptions {
        idf_power,
        correction,
        regularisation,
        ..Default::default()
    };
    let bayes =
        |alpha, estimate| ScoringOptions { alpha: Some(alpha), estimate, ..likelihood("multinomial") };
    let all = |name: &str| ScoringOptions { unlabelled: true, iterations: Some(1), ..likelihood(name) };
    for (options, expected) in [
        (weighted(Some(5.0), None, None), "idf_power: expected an idf power from 0 to 4, got 5"),
        (weighted(None, None, Some(0.0)), "regularisation: expected a regularisation C greater than 0"),
        (weighted(None, Some(false), Some(1.0)), "regularisation: expected none without a correction"),
        (bayes(0.0, None), "alpha: smoothing: expected a finite number greater than 0, got 0"),
        (bayes(0.5, Some(Estimate::Map)), "alpha: concentration: expected a finite number of at least 1"),
        (bayes(0.5, Some(Estimate::Ml)), "alpha: expected none with the estimate ml"),
        (
            ScoringOptions { occurrences: true, ..likelihood("bernoulli") },
            "occurrences: expected a likelihood other than bernoulli",
        ),
        (all("complement"), "likelihood: expected multinomial or bernoulli"),
        (all("weighted"), "likelihood: expected multinomial or bernoulli"),
    ] {
        let got = error(&options, &text);
        assert!(got.starts_with(expected), "{got}");
    }
}

#[test]
fn a_class_prior_has_a_share_for_each_label() {
    let text = Recipe::new(Kind::Text);
    let prior =
        |text: &str| ScoringOptions { class_prior: Some(text.parse().unwrap()), ..likelihood("multinomial") };
    let Scoring::NaiveBayes(parameters) = prior("spam=0.25,ham=0.75").scoring(&text, &two(), 9).unwrap()
    else {
        panic!("expected naive Bayes");
    };
    assert_eq!(parameters.prior, ClassPrior::Given(vec![0.75, 0.25]));
    assert_eq!(error(&prior("ham=1"), &text), "class_prior: expected a share for \"spam\"");
    let foreign = prior("ham=0.5,spam=0.5,eggs=0.5");
    let expected = r#"class_prior: expected labels of the documents (ham, spam), got "eggs""#;
    assert_eq!(error(&foreign, &text), expected);
    assert!("odd".parse::<PriorOption>().unwrap_err().starts_with("expected learned, smoothed, uniform or"));
}

#[test]
fn unlabelled_documents_alone_do_not_ask_for_expectation_maximization() {
    let text = Recipe::new(Kind::Text);
    let scoring = |options: ScoringOptions| {
        ScoringOptions { unlabelled: true, ..options }.scoring(&text, &two(), 20_000).unwrap()
    };
    assert!(matches!(scoring(ScoringOptions::default()), Scoring::Weighted(_)));
    assert!(matches!(scoring(likelihood("bernoulli")), Scoring::ExpectationMaximization(_)));
    let once = ScoringOptions { iterations: Some(1), ..ScoringOptions::default() };
    let mut expected = ExpectationMaximization::for_documents(20_000);
    expected.options.max_iterations = 1;
    assert_eq!(scoring(once), Scoring::ExpectationMaximization(expected));
}

#[test]
fn options_of_terms_suit_the_documents() {
    let refused = |kind, change: fn(&mut TrainOptions)| {
        let mut options = TrainOptions::new(kind);
        change(&mut options);
        options.prepare(&ScoringOptions::default()).err().map(|error| error.to_string())
    };
    let expect = |kind, change, expected: &str| assert_eq!(refused(kind, change).as_deref(), Some(expected));
    expect(Kind::Text, |o| o.recipe.content_only = true, "content_only: expected mail, got text");
    expect(
        Kind::Text,
        |o| o.recipe.ignored_headers.push("X".to_owned()),
        "ignore_header: expected mail, got text",
    );
    expect(Kind::Mail, |o| o.recipe.raw = true, "raw: expected text, got mail");
    let with_characters: fn(&mut TrainOptions) = |o| {
        let (characters, pieces) = (Some("3-5".parse().unwrap()), "on".parse().unwrap());
        o.set_terms(TermOptions { characters, pieces, ..TermOptions::default() }).unwrap();
    };
    expect(Kind::Text, with_characters, "pieces: expected text or mail with words as terms");
    expect(
        Kind::Table,
        |o| {
            o.recipe.columns.push(Column::new("a", ColumnKind::Bernoulli));
            o.keep = Some(Keep::Vectors);
        },
        "documents: expected columns of text only, whose terms can be remembered",
    );
    for kind in [Kind::Mail, Kind::Text, Kind::Table] {
        assert_eq!(refused(kind, |_| ()), None);
    }
}

#[test]
fn terms_that_are_given_are_not_chosen() {
    let terms = |ngrams: Option<&str>, characters: Option<&str>, pieces: &str, signs| {
        let mut options = TrainOptions::new(Kind::Text);
        let [ngrams, characters] = [ngrams, characters].map(|span| span.map(|span| span.parse().unwrap()));
        let pieces = pieces.parse().unwrap();
        let given = TermOptions { ngrams, characters, pieces, signs, ends: false };
        options.set_terms(given).map(|()| options)
    };
    let plain = terms(None, None, "auto", None).unwrap();
    assert_eq!(plain, TrainOptions::new(Kind::Text));
    let pairs = terms(Some("1-2"), None, "auto", None).unwrap();
    assert_eq!(pairs.recipe.tokenizer.terms, Ngrams::Words { min: 1, max: 2 });
    let others = Refinement::ALL.into_iter().filter(|refinement| *refinement != Refinement::Pairs);
    assert_eq!(pairs.refinements, others.collect::<Vec<_>>());
    let pieces = terms(None, None, "2-5", Some(true)).unwrap();
    assert_eq!((pieces.recipe.pieces, pieces.recipe.tokenizer.signs), (Some(PieceLengths::ALL), true));
    assert_eq!(pieces.refinements, [Refinement::Pairs, Refinement::Regularisation]);
    let all = terms(Some("1-2"), None, "on", Some(false)).unwrap();
    assert_eq!((&all.refinements[..], all.to_try()), (&[Refinement::Regularisation][..], &[][..]));
    let characters = terms(None, Some("3"), "off", None).unwrap();
    assert_eq!(characters.recipe.tokenizer.terms, Ngrams::Characters { min: 3, max: 3 });
    assert_eq!(characters.to_try(), []);
    let error = terms(Some("1"), Some("3"), "auto", None).unwrap_err();
    assert_eq!(error.to_string(), "characters: expected none beside ngrams");
    let ends = TermOptions { ends: true, ..TermOptions::default() };
    let error = TrainOptions::new(Kind::Text).set_terms(ends).unwrap_err();
    assert_eq!(error.to_string(), "ends: expected ngrams, such as 1-2");
    for wrong in ["2-6", "1", "x", "5-2", ""] {
        assert!(wrong.parse::<PieceOption>().is_err(), "{wrong}");
    }
    assert!("3-300".parse::<Span>().is_err());
}

#[test]
fn decisions_are_for_two_labels_and_ask_for_one_thing() {
    let mut options = TrainOptions::new(Kind::Text);
    assert!(options.check_for(3).is_ok());
    options.decision.prior = Some(0.5);
    assert!(options.check_for(2).is_ok());
    assert_eq!(
        options.check_for(3).unwrap_err().to_string(),
        "prior: expected two labels and weighted scoring"
    );
    options.scoring = Some(Scoring::NaiveBayes(Scoring::parameters()));
    assert!(options.check_for(2).is_err());

    let checked = |max_fpr, cost, unsure| {
        let decision = DecisionOptions { max_fpr, cost, unsure, ..Default::default() };
        decision.check().map_err(|error| error.to_string())
    };
    assert!(checked(Some(0.01), None, None).is_ok() && checked(None, None, None).is_ok());
    for (checked, expected) in [
        (
            checked(Some(0.1), Some(9.0), None),
            "cost: expected one of max_fpr, min_precision, cost and unsure",
        ),
        (
            checked(None, Some(9.0), Some(0.9)),
            "unsure: expected one of max_fpr, min_precision, cost and unsure",
        ),
        (checked(Some(1.0), None, None), "max_fpr: expected a share between 0 and 1, got 1"),
        (checked(None, Some(0.0), None), "cost: expected a positive number, got 0"),
        (checked(None, None, Some(1.0)), "unsure: expected a probability of at least 0 and below 1, got 1"),
    ] {
        assert_eq!(checked.unwrap_err(), expected);
    }
}

#[test]
fn a_prior_names_one_of_two_labels() {
    let share = |text: &str| text.parse::<LabelShare>().unwrap();
    assert_eq!(share("spam=0.1").of_positive(&two()).unwrap(), 0.1);
    let error = share("eggs=0.1").of_positive(&two()).unwrap_err();
    assert_eq!(error.to_string(), "prior: expected one of two labels, got \"eggs\"");
    assert!(share("ham=0.1").of_positive(&Classes::new(["ham", "spam", "eggs"]).unwrap()).is_err());
    for odd in ["spam", "spam=", "spam=1", "spam=NaN", "spam=0"] {
        assert!(odd.parse::<LabelShare>().unwrap_err().starts_with("expected LABEL=SHARE"), "{odd}");
    }
    let error = LabelShare::new("spam".to_owned(), 2.0).unwrap_err();
    assert_eq!(error.to_string(), "prior: expected a share between 0 and 1, got 2");
}
