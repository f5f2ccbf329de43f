//! The C API: any calls in any order, with null pointers, damaged models and any bytes, are answers or errors with a text.
#![allow(unsafe_code, reason = "C passes pointers")]

use super::Choices;
use super::learn::folder;
use libtamis::{
    TamisDocument, TamisFilter, TamisScore, tamis_explain, tamis_explain_mail, tamis_explain_text,
    tamis_explanation_free, tamis_forget, tamis_forget_mail, tamis_forget_text, tamis_free, tamis_last_error,
    tamis_learn, tamis_learn_mail, tamis_learn_text, tamis_open, tamis_open_bytes, tamis_reload, tamis_score,
    tamis_score_mail, tamis_score_text, tamis_version,
};
use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::ptr::{null, null_mut};
use tamis_train::options::VectorSpace;
use tamis_train::{Document, Kind, TrainOptions, Trainer};

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let folder = folder();
    let path = folder.join("model.tamis");
    let mut file = model(choices.of(&[Kind::Mail, Kind::Text]));
    let (damage, rest) = choices.0.split_at(choices.0.len().min(usize::from(choices.byte() % 4) * 4));
    Choices(damage).damage(&mut file);
    std::fs::write(&path, &file).expect("the disk has room");
    let c_path = CString::new(path.as_os_str().as_bytes()).expect("a path without zeros");
    let mut choices = Choices(rest);
    // SAFETY: a path that ends with a zero; bytes and their number
    let filter = unsafe {
        match choices.of(&[0, 0, 0, 1, 2]) {
            0 => tamis_open(c_path.as_ptr()),
            1 => tamis_open_bytes(file.as_ptr(), file.len()),
            _ => null_mut(),
        }
    };
    for _ in 0..20 {
        if choices.0.is_empty() {
            break;
        }
        call(filter, &mut choices);
    }
    // SAFETY: null, or opened above and not used later
    unsafe { tamis_free(filter) };
    // SAFETY: text that ends with a zero
    assert!(!unsafe { CStr::from_ptr(tamis_version()) }.is_empty());
    let _ = std::fs::remove_dir_all(folder);
}

fn model(kind: Kind) -> Vec<u8> {
    let mut options = TrainOptions::new(kind);
    options.recipe.vectors = Some(VectorSpace { dimensions: 2, encoder: String::new() });
    let mut trainer = Trainer::new(options).expect("the standard options");
    for (label, text) in [("ham", "soup at noon"), ("spam", "cheap pills"), ("spam", "pills at noon")] {
        let document =
            if kind == Kind::Mail { Document::Mail(text.as_bytes()) } else { Document::Text(text) };
        trainer.add(label, document).expect("a few words");
    }
    trainer.finish().expect("two labels").as_bytes().to_vec()
}

const VECTOR: [f32; 3] = [0.5, -1.0, f32::NAN];

/// A call of any function.
fn call(filter: *mut TamisFilter, choices: &mut Choices<'_>) {
    let function = choices.byte() % 10;
    let label =
        choices.of(&[c"ham".as_ptr(), c"spam".as_ptr(), c"eggs".as_ptr(), c"\xff\x01".as_ptr(), null()]);
    let length = choices.0.len().min(usize::from(choices.byte()));
    let (document, rest) = choices.0.split_at(length.min(choices.0.len()));
    choices.0 = rest;
    let (bytes, length) = match function % 7 {
        6 => (null(), length),
        _ => (document.as_ptr(), length.min(document.len())),
    };
    let n_vector = length % 4;
    let is_embedded = n_vector > 0;
    // SAFETY: null, or an open model, bytes or numbers and how many, texts that end with a zero, room for a score
    unsafe {
        match function {
            0 => check_score(|score| tamis_score_mail(filter, bytes, length, score)),
            1 => check_score(|score| tamis_score_text(filter, bytes, length, score)),
            2 => check_explanation(tamis_explain_mail(filter, bytes, length)),
            3 => check_explanation(tamis_explain_text(filter, bytes, length)),
            4 => check(tamis_learn_mail(filter, label, bytes, length)),
            5 => check(tamis_learn_text(filter, label, bytes, length)),
            6 => check(tamis_forget_mail(filter, label, bytes, length)),
            7 => check(tamis_forget_text(filter, label, bytes, length)),
            8 => check(tamis_reload(filter)),
            // more than ten choices would change what the kept inputs do
            9 if is_embedded => {
                let document =
                    TamisDocument { bytes, length, is_mail: false, vector: VECTOR.as_ptr(), n_vector };
                check_score(|score| tamis_score(filter, &document, score));
                check_explanation(tamis_explain(filter, &document));
                check(tamis_learn(filter, label, &document));
                check(tamis_forget(filter, label, &document));
                check(tamis_learn(filter, label, null()));
            }
            _ => check(tamis_score_mail(filter, bytes, length, null_mut())),
        }
    }
}

/// What a call answers; a failure has a text, which is no panic's.
fn check(answer: i32) {
    assert!((-1..=1).contains(&answer), "{answer}");
    if answer == -1 {
        let said = text(tamis_last_error());
        assert!(!said.is_empty() && !said.starts_with("a fault"), "{said}");
    }
}

fn check_score(score: impl FnOnce(*mut TamisScore) -> i32) {
    let mut got = std::mem::MaybeUninit::uninit();
    let answer = score(got.as_mut_ptr());
    check(answer);
    if answer == 0 {
        // SAFETY: the call succeeded, so it was written
        check_written(&unsafe { got.assume_init() });
    }
}

fn check_written(score: &TamisScore) {
    assert!((0.0..=1.0).contains(&score.probability) && !score.log_odds.is_nan());
    assert_eq!(score.is_unsure, text(score.label) == "unsure");
    assert_eq!(score.is_spam, text(score.label) == "spam");
    assert!(!text(score.scored_label).is_empty());
}

fn check_explanation(explanation: *mut libtamis::TamisExplanation) {
    // SAFETY: null, or an explanation until it is freed below
    if let Some(got) = unsafe { explanation.as_ref() } {
        check_written(&got.score);
        assert_ne!(text(got.label), text(got.against));
        // SAFETY: so many terms, which live until the explanation is freed
        let terms = unsafe { std::slice::from_raw_parts(got.terms, got.n_terms) };
        assert!(terms.iter().all(|term| !text(term.term).is_empty() && !term.contribution.is_nan()));
    } else {
        check(-1);
    }
    // SAFETY: null, or an explanation that is not used later
    unsafe { tamis_explanation_free(explanation) };
}

fn text(pointer: *const c_char) -> String {
    // SAFETY: text that ends with a zero, and lives until it was copied
    unsafe { CStr::from_ptr(pointer) }.to_str().expect("UTF-8").to_owned()
}
