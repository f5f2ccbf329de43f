//! Error messages: what was expected, what was found, and what to do.

use std::fmt;

use crate::error::ErrorKind;

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Io { path, source } => write!(f, "{}: {source}", path.display()),
            ErrorKind::NotAFile { path, got } => write!(
                f,
                "{}: expected a regular file, as a model and its lock must be, got {got}; save what comes through a pipe to a file first",
                path.display()
            ),
            ErrorKind::Changed { path } => write!(
                f,
                "{}: the model was changed in place while it was in use: expected it to be replaced by renaming (mv, not cp)",
                path.display()
            ),
            ErrorKind::WrongFile { expected, got } => {
                write!(f, "expected {expected}, got {got}")
            }
            ErrorKind::NotAModel { got } => {
                write!(
                    f,
                    "not a tamis model: expected it to begin with \"TAMIS\", got \"{}\"",
                    got.escape_ascii()
                )
            }
            ErrorKind::Version { expected, got } => {
                write!(
                    f,
                    "format {got} is not known here: expected format {expected}; train it anew or use the version of tamis that wrote it"
                )
            }
            ErrorKind::Segment { got } => write!(
                f,
                "the model has a segment of the kind \"{}\", which is not known here: expected records of a log; use the version \
                 of tamis that wrote it, or train it anew",
                got.escape_ascii()
            ),
            ErrorKind::Length { expected, got } => {
                write!(
                    f,
                    "the model is cut short: expected {expected} bytes, got {got}; take a whole copy, or train it anew"
                )
            }
            ErrorKind::Checksum { part, offset, expected, got } => write!(
                f,
                "the model is damaged in its {part} at byte {offset}: expected checksum {expected:08x}, got {got:08x}; take a \
                 whole copy, or train it anew"
            ),
            ErrorKind::Inconsistent { part, expected, got } => {
                write!(f, "the model contradicts itself in its {part}: expected {expected}, got {got}")
            }
            ErrorKind::RecipeVersion { expected, got } => {
                write!(f, "the model was trained by recipe {got}: expected recipe {expected}; train it anew")
            }
            ErrorKind::Kind { expected, got } => {
                write!(f, "the model was trained on {expected}: expected {expected}, got {got}")
            }
            ErrorKind::Columns { expected, got } => write!(f, "columns: expected {expected}, got {got}"),
            ErrorKind::Cell { column, expected, got } => {
                write!(f, "column {column:?}: expected {expected}, got {got:?}")
            }
            ErrorKind::TooFewLabels { expected, got } => {
                write!(f, "expected documents of at least {expected} labels, got {got}")
            }
            ErrorKind::Unlabelled => {
                write!(
                    f,
                    "expected a label for each document, got documents without; they can be learned in training only, by \
                     weighted scoring without windows or by expectation maximization"
                )
            }
            ErrorKind::NotWeighted => write!(f, "expected weighted scoring, got naive Bayes"),
            ErrorKind::TooLarge { what, limit, got } => {
                write!(f, "too many {what}: expected at most {limit}, got {got}")
            }
            ErrorKind::Option { option, message } => write!(f, "{option}: {message}"),
            ErrorKind::TooFewNegatives(e) => e.fmt(f),
            ErrorKind::Locked { path, waited } => {
                let seconds = waited.as_secs_f64();
                write!(
                    f,
                    "{}: another process is changing the model; waited {seconds} s for it",
                    path.display()
                )
            }
            ErrorKind::DistributedUnsupported { got } => {
                write!(f, "{got} cannot be fitted by partitions: fit it on one machine")
            }
            ErrorKind::CountsAlone => {
                write!(f, "expected documents with their terms, got counts without the documents")
            }
            ErrorKind::IncrementalUnsupported { got } => {
                write!(f, "a model of {got} does not learn one document at a time: train it anew")
            }
            ErrorKind::UnknownLabel { got, known, nearest } => {
                write!(f, "expected a label that the model knows ({}), got {got:?}", known.join(", "))?;
                nearest.as_ref().map_or(Ok(()), |nearest| write!(f, " (did you mean {nearest:?}?)"))
            }
            ErrorKind::ReservedLabel { got } => {
                write!(f, "expected a label other than the verdict of no label, got {got:?}; rename it")
            }
            ErrorKind::SimilarLabels { got: [one, other] } => {
                write!(
                    f,
                    "expected labels that differ in more than case, blanks, invisible or look-alike characters, got \
                     {one:?} and {other:?}; use one spelling"
                )
            }
            ErrorKind::OneFold { label } => {
                write!(
                    f,
                    "cross-validation: expected documents of {label:?} in two folds, so that others are left to learn \
                     from, got them in one; documents of a group stay together"
                )
            }
            ErrorKind::Buffer { expected, got } => {
                write!(f, "expected a buffer of {expected} numbers, documents times labels, got {got}")
            }
            ErrorKind::Document { place, error } => write!(f, "document {place}: {error}"),
            ErrorKind::NotLearned { digest, known } => {
                let digest = u128::from_be_bytes(*digest);
                match known {
                    None => write!(f, "document {digest:032x} was never learned"),
                    Some(label) => write!(f, "document {digest:032x} was learned as {label:?}"),
                }
            }
            ErrorKind::TermsNotStored => {
                write!(f, "the model remembers no terms of this document: it must be at hand to be forgotten")
            }
            ErrorKind::Incompatible { setting, expected, got } => {
                write!(f, "models do not add up: {setting}: expected {expected}, got {got}")
            }
            ErrorKind::Shared { documents } => {
                write!(
                    f,
                    "expected models that share no documents, or remember the terms of those they share, got {documents} shared documents of which some remember a digest only"
                )
            }
            ErrorKind::Import { line, expected, got } => {
                write!(f, "line {line}: expected {expected}, got {got}")
            }
            ErrorKind::DifferentSettings => {
                write!(
                    f,
                    "trainers with different settings cannot be merged: expected equal recipes and parameters"
                )
            }
            ErrorKind::Classes(e) => e.fmt(f),
            ErrorKind::Options(e) => e.fmt(f),
            ErrorKind::Vocabulary(e) => e.fmt(f),
            ErrorKind::Statistics(e) => e.fmt(f),
            ErrorKind::Parameters(e) => e.fmt(f),
            ErrorKind::Em(e) => e.fmt(f),
            ErrorKind::Observation(e) => e.fmt(f),
        }
    }
}
