//! Partials: as they come, and small ones with bytes changed behind their checksums.

use super::Choices;
use super::model::repair_base;
use std::sync::LazyLock;
use tamis_train::distributed::Partial;
use tamis_train::options::{Column, ColumnKind};
use tamis_train::{Document, Keep, Kind, Scoring, TrainOptions, Trainer};

static PARTIALS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(partials);

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let (base, repair) = (usize::from(choices.byte()), choices.flag());
    let known = PARTIALS.get(base % 8);
    let mut file = known.map_or_else(|| choices.0.to_vec(), Vec::clone);
    if known.is_some() {
        choices.damage(&mut file);
    }
    let is_same = known == Some(&file);
    if repair {
        // terms, documents and texts
        repair_base(&mut file, 3);
    }
    let Ok(partial) = Partial::from_bytes(file) else {
        return assert!(!is_same || repair, "damage was seen where there is none");
    };
    assert!(is_same || repair || known.is_none(), "damage was not noticed");
    // with itself, so that documents are known already
    let merged = partial.to_trainer().and_then(|trainer| trainer.merge_partial(&partial));
    assert!(merged.is_ok() || !is_same || repair);
    let Ok(trainer) = merged else { return };
    if let Ok(again) = trainer.into_partial() {
        let _ = again.to_trainer().and_then(Trainer::finish);
    }
}

/// A small partial of every kind.
fn partials() -> Vec<Vec<u8>> {
    let mut text = TrainOptions::new(Kind::Text);
    text.refinements.clear();
    let mut remembered = text.clone();
    remembered.keep = Some(Keep::Vectors);
    let mut bayes = text.clone();
    bayes.scoring = Some(Scoring::NaiveBayes(Scoring::parameters()));
    let mut table = TrainOptions::new(Kind::Table);
    let column = |(name, kind): (&str, _)| Column::new(name, kind);
    table.recipe.columns =
        [("miles", ColumnKind::Gaussian), ("sky", ColumnKind::Categorical)].map(column).into();
    // it is open which families of terms there are
    let open = TrainOptions::new(Kind::Text);
    let (mail, topics) = (TrainOptions::new(Kind::Mail), ["fruit", "metal"]);
    let all = [(text, topics), (remembered, topics), (bayes, topics), (mail.clone(), topics)];
    // a spam filter has the parts of documents
    let more = [(mail, ["ham", "spam"]), (table, topics), (open, topics)];
    all.into_iter().chain(more).map(|(options, labels)| partial(options, labels)).collect()
}

fn partial(options: TrainOptions, labels: [&str; 2]) -> Vec<u8> {
    let mut trainer = Trainer::new(options).expect("options in range");
    let [fruit, metal] = labels;
    for (label, text) in [(fruit, "apples and pears"), (metal, "iron and tin"), (metal, "iron and tin")] {
        let mail = format!("From: {label}@b.org\nSubject: {text}\n\n{text}\n");
        let row = [("miles", "7.5"), ("sky", text)];
        let document = match trainer.recipe().kind {
            Kind::Mail => Document::Mail(mail.as_bytes()),
            Kind::Text => Document::Text(text),
            Kind::Table => Document::Fields(&row),
        };
        trainer.add(label, document).expect("a document");
    }
    let needs_words = trainer.recipe().kind == Kind::Text;
    if needs_words {
        trainer.add_unlabelled(Document::Text("tin is soft")).expect("a document");
    }
    trainer.into_partial().expect("few documents").as_bytes().to_vec()
}
