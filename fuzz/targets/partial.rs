//! Partials: as they come, and small ones with bytes changed behind their checksums.

use super::Choices;
use super::model::{crc32, repair_sections};
use std::sync::LazyLock;
use tamis_filter::{
    Column, ColumnKind, Document, Keep, Kind, Pairs, Partial, Scoring, TrainOptions, Trainer,
};

static PARTIALS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(partials);

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let (base, repair) = (usize::from(choices.byte()), choices.flag());
    let known = PARTIALS.get(base % 8);
    let mut file = known.map_or_else(|| choices.0.to_vec(), Vec::clone);
    while known.is_some() && choices.0.len() >= 4 && !file.is_empty() {
        let (at, change, value) = (choices.number() % file.len(), choices.byte(), choices.byte());
        match change % 8 {
            0 => file.truncate(at),
            1 => file.insert(at, value),
            2 => file[at] = file[at].wrapping_add(value),
            3 => file[at] ^= 1 << (value % 8),
            _ => file[at] = value,
        }
    }
    let is_same = known == Some(&file);
    if repair {
        repair_checksums(&mut file);
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

/// Writes the checksums that a partial of one body should have, if the file goes so far: the last numbers of the header
/// are the lengths of its sections.
fn repair_checksums(file: &mut [u8]) {
    let Some(length) = file.get(12..16).and_then(|bytes| bytes.first_chunk()) else { return };
    let start = (u32::from_le_bytes(*length) as usize).saturating_add(24);
    let Some(header) = file.get(24..start) else { return };
    let lengths = header[header.len().saturating_sub(2 * 8)..].to_vec();
    let seed = crc32(crc32(0, &file[8..20]), header);
    file[20..24].copy_from_slice(&seed.to_le_bytes());
    repair_sections(file, seed, start, &lengths);
}

/// A small partial of every kind.
fn partials() -> Vec<Vec<u8>> {
    let mut text = TrainOptions::new(Kind::Text);
    text.pairs = Pairs::Fixed;
    let mut remembered = text.clone();
    remembered.keep = Keep::Vectors;
    let mut bayes = text.clone();
    bayes.scoring = Some(Scoring::NaiveBayes(Scoring::parameters()));
    let mut windows = TrainOptions::new(Kind::Mail);
    windows.recipe.windows = Some(20);
    let mut table = TrainOptions::new(Kind::Table);
    let column = |(name, kind): (&str, _)| Column::new(name, kind);
    table.recipe.columns =
        [("miles", ColumnKind::Gaussian), ("sky", ColumnKind::Categorical)].map(column).into();
    let all = [text, remembered, bayes, TrainOptions::new(Kind::Mail), windows, table];
    all.into_iter().map(partial).collect()
}

fn partial(options: TrainOptions) -> Vec<u8> {
    let mut trainer = Trainer::new(options).expect("options in range");
    for (label, text) in [("fruit", "apples and pears"), ("metal", "iron and tin"), ("metal", "iron and tin")]
    {
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
