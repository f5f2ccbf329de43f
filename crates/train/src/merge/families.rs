//! Models of which some chose families of terms that others lack, such as pairs of words.

use tamis_filter::extract::document::digest;
use tamis_model::{ClassTotals, WeightedOptions};
use tamis_store::config::recipe::Recipe;
use tamis_store::config::refinement::Refinement;
use tamis_store::error::Result;
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::ModelHeader;
use tamis_store::kind::Kind;
use tamis_store::store::opened::Store;
use tamis_tokenizer::{CountVector, Ngrams, PieceLengths, TermCount, TermId, is_piece};
use zerocopy::IntoBytes;

use crate::fit::sections::{DocumentSections, seal, term_sections};
use crate::merge::documents::merge_copies;
use crate::merge::refit::can_refit;
use crate::merge::stores::Stores;

/// The family of a text's term that training may add to words, after the prefix of its field; `None` for a word.
fn family(term: &str) -> Option<Refinement> {
    // signs may have colons, and begin with a sign
    let of_field = term.split_once(':').filter(|(field, _)| !field.contains('^'));
    match of_field.map_or(term, |(_, rest)| rest) {
        // with pairs come the ends of texts
        rest if rest.contains(' ') || rest == "^" => Some(Refinement::Pairs),
        rest if rest.contains('^') => Some(Refinement::Signs),
        rest if is_piece(rest) => Some(Refinement::Pieces),
        _ => None,
    }
}

/// What models have in common, if no one was told otherwise: the families of terms that all have, and the default
/// regularisation if they chose different ones. Each model that has more, with its terms left out; `None` for the others.
///
/// Only models of text that remember the terms of their documents, since these are fitted anew.
pub(crate) fn reduced(stores: &[&Store]) -> Result<Vec<Option<Store>>> {
    let of_text = |store: &&Store| store.header.recipe.kind == Kind::Text && can_refit(store);
    let all_options: Option<Vec<_>> = stores.iter().map(|store| settings(store)).collect();
    let all = all_options.filter(|_| stores.iter().all(of_text)).unwrap_or_default();
    let Some((first, others)) = all.split_first() else {
        return Ok(stores.iter().map(|_| None).collect());
    };
    let common = others.iter().fold(first.clone(), common_of);
    let reduced = stores.iter().zip(&all).map(|(store, own)| {
        (*own != common && has_chosen_more(store, own, &common)).then(|| reduce(store, &common)).transpose()
    });
    reduced.collect()
}

/// The settings with the families of terms that both have, and the default regularisation if these differ in it.
fn common_of((mut recipe, mut options): Settings, (of, its): &Settings) -> Settings {
    let (here, there) = (&mut recipe.tokenizer, &of.tokenizer);
    here.signs &= there.signs;
    if here.terms != there.terms {
        (here.terms, here.ends) = (Ngrams::default(), false);
    }
    recipe.pieces = recipe.pieces.filter(|pieces| Some(*pieces) == of.pieces);
    if options.regularisation != its.regularisation {
        options.regularisation = WeightedOptions::default().regularisation;
    }
    (recipe, options)
}

/// How texts become terms, and how they are fitted.
type Settings = (Recipe, WeightedOptions);

fn settings(store: &Store) -> Option<Settings> {
    Some((store.header.recipe.clone(), *store.header.scoring.options().weighted()?))
}

/// Whether a model differs from what is common only by what it chose itself.
fn has_chosen_more(store: &Store, own: &Settings, common: &Settings) -> bool {
    let tried = store.header.scoring.chosen().map_or(&[][..], |chosen| &chosen.refinements);
    let has_chosen = |refinement| tried.iter().any(|it| it.refinement == refinement && it.is_chosen());
    let was_chosen = |refinement| has(own, refinement) == has(common, refinement) || has_chosen(refinement);
    common_of(own.clone(), common) == *common && Refinement::ALL.into_iter().all(was_chosen)
}

/// Whether settings have a family of terms, or the regularisation that training may choose.
fn has((recipe, options): &Settings, refinement: Refinement) -> bool {
    match refinement {
        Refinement::Pieces => recipe.pieces.is_some(),
        Refinement::AllPieces => recipe.pieces == Some(PieceLengths::ALL),
        Refinement::Pairs => recipe.tokenizer.terms != Ngrams::default(),
        Refinement::Signs => recipe.tokenizer.signs,
        Refinement::Regularisation => options.regularisation == Refinement::C,
    }
}

/// A model without the terms that are not common, to be fitted anew.
fn reduce(store: &Store, common: &Settings) -> Result<Store> {
    let (recipe, options) = common;
    let (stores, classes) = ([store], store.header.classes.clone());
    let terms = Stores::new(&stores, &classes)?;
    let is_common = |text: &str| family(text).is_none_or(|family| has(common, family));
    let (mut kept, mut ids, mut is_word) = (Vec::new(), vec![None; terms.len()], Vec::new());
    let of_none = |totals: &ClassTotals| ClassTotals { documents: totals.documents, ..Default::default() };
    let mut totals: Vec<_> = store.totals.iter().map(of_none).collect();
    for id in 0..terms.len() as TermId {
        let (fingerprint, text) = terms.term(id)?;
        if is_common(text) {
            ids[id as usize] = Some(kept.len() as TermId);
            kept.push((id, fingerprint));
            is_word.push(family(text) != Some(Refinement::Pieces));
            terms.for_each_cell(id, |cell| {
                let of_class = &mut totals[usize::from(cell.class)];
                (of_class.df, of_class.tf) =
                    (of_class.df + u64::from(cell.df), of_class.tf + u64::from(cell.tf));
            })?;
        }
    }
    let sections = term_sections(kept.len(), |writer, id| {
        let (fingerprint, text) = terms.term(kept[id as usize].0)?;
        let mut cells = Vec::new();
        terms.for_each_cell(kept[id as usize].0, |cell| cells.push(cell))?;
        writer.push(fingerprint, text, cells.into_iter(), std::iter::empty())
    })?;
    let mut scoring = FittedScoring::unfitted(*options, classes.len());
    if let (FittedScoring::Weighted { chosen, .. }, Some(before)) =
        (&mut scoring, store.header.scoring.chosen())
    {
        chosen.clone_from(before);
        chosen.refinements.retain(|tried| !tried.is_chosen() || has(common, tried.refinement));
    }
    let header = ModelHeader { recipe: recipe.clone(), scoring, totals, ..store.header.clone() };
    let mut documents = Vec::new();
    for document in store.documents() {
        let mut document = document?;
        let row = terms.renumber(0, &document.vector)?;
        let pairs = row.row().iter().filter_map(|(id, count)| Some((ids[id as usize]?, count)));
        document.vector = CountVector::from_pairs(pairs).unwrap_or_default();
        let words = document.vector.row().iter().filter(|(id, _)| is_word[*id as usize]);
        let words = words.map(|(id, count)| TermCount { fingerprint: kept[id as usize].1, id, count });
        document.digest = digest(recipe.version, &words.collect::<Vec<_>>(), &[]);
        (document.held_out, document.coefficients) = (None, Vec::new());
        documents.push((0, document));
    }
    documents.sort_by_key(|(_, document)| document.key());
    let (mut records, mut vectors) = (Vec::new(), Vec::new());
    // what differed by terms that are gone is the same now
    for equal in documents.chunk_by(|(_, a), (_, b)| a.key() == b.key()) {
        let (_, document) = merge_copies(equal.to_vec(), true)?;
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
        (store.totals.clone(), (0..terms.len() as TermId).map(counts).collect::<Vec<_>>(), documents)
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
            prop_assert_eq!(contents(&reduce(&store(&with), &common).unwrap()), contents(&store(&kept)));
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
