//! Models for which training chose different terms beside words, or different regularisations, made alike.

use tamis_filter::extract::document::digest;
use tamis_filter::extract::extractor::Extractor;
use tamis_model::{Counts, Statistics, WeightedOptions};
use tamis_store::config::recipe::Recipe;
use tamis_store::config::refinement::Refinement;
use tamis_store::error::Result;
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::ModelHeader;
use tamis_store::kind::Kind;
use tamis_store::store::opened::Store;
use tamis_tokenizer::{CountVector, Ngrams, PieceLengths, Vocabulary};
use zerocopy::IntoBytes;

use crate::fit::sections::{DocumentSections, seal, term_sections};
use crate::merge::documents::merge_copies;
use crate::merge::refit::can_refit;
use crate::merge::stores::Stores;

/// How texts become terms, and how they are fitted.
pub(crate) type Settings = (Recipe, WeightedOptions);

fn settings(store: &Store) -> Option<Settings> {
    Some((store.header.recipe.clone(), *store.header.scoring.options().weighted()?))
}

/// The settings that models could share, from the simplest on, if they differ only in what training chose: the pairs and signs
/// that all have, each regularisation, and pieces as each has them, since words have what it takes to count these again. None
/// if the models are alike, or cannot be made so: they must be of text without vectors, and remember the terms of their documents.
pub(crate) fn shared_settings(stores: &[&Store]) -> Vec<Settings> {
    // a document without words may be known by its vector
    let is_text = |ModelHeader { recipe, unremembered, .. }: &ModelHeader| {
        recipe.kind == Kind::Text && recipe.vectors.is_none() && !unremembered
    };
    let own: Option<Vec<_>> = stores.iter().map(|store| settings(store)).collect();
    let own = own
        .filter(|_| stores.iter().all(|store| is_text(&store.header) && can_refit(store)))
        .unwrap_or_default();
    let Some((first, others)) =
        own.split_first().filter(|(first, others)| others.iter().any(|it| it != *first))
    else {
        return Vec::new();
    };
    let mut common = first.clone();
    for (recipe, _) in others {
        let (here, there) = (&mut common.0.tokenizer, &recipe.tokenizer);
        here.signs &= there.signs;
        if here.terms != there.terms {
            (here.terms, here.ends) = (Ngrams::default(), false);
        }
    }
    let pieces = [None, Some(PieceLengths::FOUR), Some(PieceLengths::ALL)];
    let mut all = Vec::new();
    for pieces in pieces.into_iter().filter(|pieces| own.iter().any(|(recipe, _)| recipe.pieces == *pieces)) {
        for c in [WeightedOptions::default().regularisation, Refinement::C] {
            let (mut recipe, mut options) = common.clone();
            (recipe.pieces, options.regularisation) = (pieces, c);
            let is_of_one = own.iter().any(|(_, options)| options.regularisation == c);
            let wanted = (recipe, options);
            let may_have = |(store, own): (&&Store, &Settings)| may_change(store, own, &wanted);
            if is_of_one && stores.iter().zip(&own).all(may_have) {
                all.push(wanted);
            }
        }
    }
    all
}

/// Whether training chose by itself what a model would have to change, either way.
fn may_change(store: &Store, own: &Settings, wanted: &Settings) -> bool {
    let tried = store.header.scoring.chosen().map_or(&[][..], |chosen| &chosen.refinements);
    let is_open = |refinement| tried.iter().any(|tried| tried.refinement == refinement);
    let may_change = |refinement| match refinement {
        _ if has(own, refinement) == has(wanted, refinement) => true,
        Refinement::AllPieces => is_open(Refinement::Pieces),
        refinement => is_open(refinement),
    };
    let (mut recipe, mut options) = own.clone();
    (recipe.pieces, options.regularisation) = (wanted.0.pieces, wanted.1.regularisation);
    let (here, there) = (&mut recipe.tokenizer, &wanted.0.tokenizer);
    (here.terms, here.ends, here.signs) = (there.terms, there.ends, there.signs);
    (recipe, options) == *wanted && Refinement::ALL.into_iter().all(may_change)
}

/// Whether settings have a family of terms, or the regularisation that training may choose.
fn has((recipe, options): &Settings, refinement: Refinement) -> bool {
    match refinement {
        Refinement::Regularisation => options.regularisation == Refinement::C,
        of_terms => recipe.has(of_terms),
    }
}

/// A model as if it had been trained with other settings, to be fitted anew.
pub(crate) fn converted(store: &Store, wanted: &Settings) -> Result<Store> {
    let (recipe, options) = wanted;
    let (stores, classes, extractor) = ([store], &store.header.classes, Extractor::new(recipe.clone())?);
    let terms = Stores::new(&stores, classes)?;
    let (mut vocabulary, mut words) = (Vocabulary::new(), vec![None; terms.n_terms()]);
    for (id, word) in (0..).zip(&mut words) {
        let (_, text) = terms.term(id)?;
        if Refinement::of_term(text).is_none_or(|family| family != Refinement::Pieces && has(wanted, family))
        {
            *word = Some(vocabulary.intern(text)?);
        }
    }
    let (mut statistics, mut documents) = (Statistics::new(store.totals.len()), Vec::new());
    for document in store.documents() {
        let mut document = document?;
        let row = terms.renumber(0, &document.vector)?;
        let kept = row.row().iter().filter_map(|(id, count)| Some((words[id as usize]?, count)));
        vocabulary.begin_document_of(kept);
        document.digest = digest(recipe.version, vocabulary.document(), &[]);
        if let Some(lengths) = recipe.pieces {
            vocabulary.count_pieces(lengths, |term| extractor.word_in(term))?;
        }
        let pairs = vocabulary.document().iter().map(|term| (term.id, term.count));
        document.vector = CountVector::from_pairs(pairs).unwrap_or_default();
        statistics.observe_times(document.class, document.vector.row(), document.multiplicity)?;
        (document.held_out, document.coefficients) = (None, Vec::new());
        documents.push((0, document));
    }
    let mut order: Vec<_> = vocabulary.fingerprints().map(|(id, fingerprint)| (fingerprint, id)).collect();
    order.retain(|(_, id)| statistics.document_frequency(*id) > 0);
    order.sort_unstable();
    let mut ids = vec![0; vocabulary.len()];
    order.iter().zip(0..).for_each(|((_, id), new)| ids[*id as usize] = new);
    let statistics = statistics.permuted(&order.iter().map(|(_, id)| *id).collect::<Vec<_>>());
    let sections = term_sections(order.len(), |writer, new| {
        let (fingerprint, id) = order[new as usize];
        let text = vocabulary.term(id).unwrap_or_default();
        writer.push(fingerprint, text, statistics.cells(new), std::iter::empty())
    })?;
    let mut scoring = FittedScoring::unfitted(*options, classes.len());
    if let (FittedScoring::Weighted { chosen, .. }, Some(before)) =
        (&mut scoring, store.header.scoring.chosen())
    {
        chosen.clone_from(before);
        chosen.refinements.retain(|tried| tried.is_chosen() == has(wanted, tried.refinement));
    }
    let totals = statistics.totals().to_vec();
    let header = ModelHeader { recipe: recipe.clone(), scoring, totals, ..store.header.clone() };
    documents.sort_by_key(|(_, document)| document.key());
    let (mut records, mut vectors) = (Vec::new(), Vec::new());
    // what differed by terms that are gone is the same now
    for equal in documents.chunk_by(|(_, a), (_, b)| a.key() == b.key()) {
        let (_, mut document) = merge_copies(equal.to_vec(), true)?;
        let pairs = document.vector.row().iter().map(|(id, count)| (ids[id as usize], count));
        document.vector = CountVector::from_pairs(pairs).unwrap_or_default();
        records.extend_from_slice(header.encode_document(&document, &mut vectors).as_bytes());
    }
    let documents = DocumentSections { documents: records.into(), vectors: vectors.into() };
    seal(header, sections, documents)?.into_store()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_filter::extract::document::Document;
    use tamis_store::config::training::TrainOptions;
    use tamis_store::error::Reason;

    use super::*;
    use tamis_tokenizer::TermId;

    use crate::merge::models::{MergeOptions, merge};
    use crate::tests::taught;

    /// What a model counts, and what it remembers of documents.
    fn contents(store: &Store) -> impl PartialEq + std::fmt::Debug + use<> {
        let stores = [store];
        let terms = Stores::new(&stores, &store.header.classes).unwrap();
        let counts = |id| {
            let mut cells = Vec::new();
            terms.for_each_cell(id, |cell| cells.push(cell)).unwrap();
            (terms.term(id).unwrap().1.to_owned(), cells)
        };
        let documents = store.documents().map(|document| {
            let document = document.unwrap();
            (document.key(), document.multiplicity, terms.renumber(0, &document.vector).unwrap())
        });
        let documents: Vec<_> = documents.collect();
        (store.totals.clone(), (0..terms.n_terms() as TermId).map(counts).collect::<Vec<_>>(), documents)
    }

    proptest! {
        #[test]
        fn a_model_without_some_families_is_one_that_never_counted_them(
            texts in prop::collection::vec(("[ab]", prop::collection::vec("(Soup|soup|pears|:-[)]|!!|ice)", 0..6)), 2..20),
            families in 0..8_usize,
        ) {
            let plain = TrainOptions { refinements: Vec::new(), ..TrainOptions::new(Kind::Text) };
            let all = [Refinement::Pieces, Refinement::Pairs, Refinement::Signs];
            let with = all.into_iter().fold(plain.clone(), |options, it| options.with(it).unwrap());
            let kept = all.into_iter().enumerate().filter(|(bit, _)| families >> bit & 1 == 1);
            let kept = kept.fold(plain, |options, (_, it)| options.with(it).unwrap());
            let store = |options: &TrainOptions| {
                let mut trainer = crate::train::trainer::Trainer::new(options.clone()).unwrap();
                for (label, words) in [("a".to_owned(), vec![]), ("b".to_owned(), vec![])].iter().chain(&texts) {
                    let (body, more) = words.split_at(words.len() / 2);
                    let fields = [("", body.join(" ")), ("title", more.join(" "))];
                    trainer.add(label, Document::Fields(&fields.each_ref().map(|(name, it)| (*name, &**it)))).unwrap();
                }
                trainer.finish().unwrap().into_store().unwrap()
            };
            let common = settings(&store(&kept)).unwrap();
            prop_assert_eq!(contents(&converted(&store(&with), &common).unwrap()), contents(&store(&kept)));
        }
    }

    #[test]
    fn halves_that_chose_different_terms_merge_and_those_told_to_do_not() {
        let shout = |day: usize, marks: &str| format!("soup and pears at {} on day {day}{marks}", day % 7);
        let texts = |first: usize, marks: [&'static str; 2]| {
            let of_day = move |day: usize| [("calm", shout(day, marks[0])), ("loud", shout(day, marks[1]))];
            (first..first + 200).flat_map(of_day).collect::<Vec<_>>()
        };
        let model = |options: TrainOptions, texts: Vec<(&str, String)>| {
            taught(options, texts).finish().unwrap().into_filter().unwrap()
        };
        let open = TrainOptions::new(Kind::Text);
        let marked = model(open.clone(), texts(0, ["", "!!!"]));
        let plain = model(open.clone(), texts(500, [" then", " now"]));
        assert!(marked.information().recipe.tokenizer.signs && !plain.information().recipe.tokenizer.signs);
        let options = MergeOptions::default();
        let both = merge(&[&marked, &plain], options).unwrap().into_filter().unwrap();
        assert_eq!(both.information().recipe, plain.information().recipe);
        assert_eq!(both.information().documents, 800);
        let told = TrainOptions { refinements: Vec::new(), ..open }.with(Refinement::Signs).unwrap();
        let told = model(told, texts(0, ["", "!!!"]));
        let error = merge(&[&told, &plain], options).err().unwrap();
        assert!(
            matches!(error.reason(), Reason::Incompatible { setting, .. } if setting == "recipe.tokenizer.signs")
        );
    }
}
