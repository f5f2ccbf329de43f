//! Tests of the file and of scoring that need a trained model.

mod beside_text;
mod fallback;
mod header;
mod mixed;
mod terms;
mod vectors;
mod words;

use crate::{Document, Kind, TrainOptions, Trainer};

/// A trainer that was given texts or mails, each with its label.
pub(crate) fn taught<L: AsRef<str>, T: AsRef<str>>(
    options: TrainOptions,
    documents: impl IntoIterator<Item = (L, T)>,
) -> Trainer {
    let is_mail = options.recipe.kind == Kind::Mail;
    let mut trainer = Trainer::new(options).unwrap();
    for (label, text) in documents {
        let text = text.as_ref();
        let document = if is_mail { Document::Mail(text.as_bytes()) } else { Document::Text(text) };
        trainer.add(label.as_ref(), document).unwrap();
    }
    trainer
}
