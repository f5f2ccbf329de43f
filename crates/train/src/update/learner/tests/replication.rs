//! Several servers apply the same records, early, late and again, and know the same.

use super::*;
use crate::exchange::import;
use crate::replication::Record;
use serde_json::Value;
use tamis_model::{ClassPrior, Parameters};
use tamis_store::file::terms::{fingerprint_of, unknown_text};

/// A mail: servers see the same message with other header fields, and other messages with the same terms.
type Mail = (u8, u8, u8);

fn mail((body, id, headers): Mail) -> String {
    let headers =
        ["Subject: lunch", "Subject: lunch\nX-Loop: gateway", "From: a@example.org"][usize::from(headers)];
    format!("Message-ID: <{id}@example.org>\n{headers}\n\nw{body} w{body} word number{}\n", body % 2)
}

/// What happens at one of the servers.
#[derive(Clone, Debug)]
enum Step {
    /// It learns a mail under a label, or forgets it, and appends this to the stream. `early` says whether it applies
    /// it at once: not at all, by its record, or directly.
    Change {
        mail: Mail,
        label: Option<usize>,
        early: u8,
    },
    /// It reads some records.
    Read(usize),
    Commit,
    /// It is stopped without a commit, and goes on from the last one.
    Kill,
    /// It reads some records again.
    Rewind(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let mail = (0u8..2, 0u8..3, 0u8..3);
    let change = (mail, proptest::option::weighted(0.7, 0usize..2), 0u8..3);
    prop_oneof![
        6 => change.prop_map(|(mail, label, early)| Step::Change { mail, label, early }),
        4 => (1usize..4).prop_map(Step::Read),
        2 => Just(Step::Commit),
        1 => Just(Step::Kill),
        1 => (1usize..9).prop_map(Step::Rewind),
    ]
}

/// A server: the model it learns with, and how far it has read.
struct Server {
    folder: tempfile::TempDir,
    options: LearnOptions,
    learner: Option<Learner>,
    read: usize,
    committed: usize,
}

impl Server {
    fn new(model: &[u8], options: LearnOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(model_path(&folder), model).unwrap();
        let mut server = Server { folder, options, learner: None, read: 0, committed: 0 };
        server.open();
        server
    }

    fn open(&mut self) -> &mut Learner {
        self.learner = None;
        let learner = Learner::open(model_path(&self.folder), self.options).unwrap();
        self.learner.insert(learner)
    }

    fn learner(&mut self) -> &mut Learner {
        self.learner.as_mut().unwrap()
    }

    fn read(&mut self, stream: &[Vec<u8>], n: usize) {
        let until = stream.len().min(self.read.saturating_add(n));
        for bytes in &stream[self.read..until] {
            let record = Record::from_bytes(bytes).unwrap();
            self.learner().apply(&record).unwrap();
            assert!(!self.learner().apply(&record).unwrap(), "applied twice is applied once");
        }
        self.read = until;
    }

    fn take(&mut self, step: &Step, stream: &mut Vec<Vec<u8>>, may_learn: bool) {
        match *step {
            Step::Change { mail: of, label, early } => {
                let (text, label) = (mail(of), label.map(|label| LABELS[label]));
                let document = Document::Mail(text.as_bytes());
                let learner = self.learner();
                let record = learner.record(label, document).unwrap();
                stream.push(record.to_bytes());
                match (early, label) {
                    (0, _) => (),
                    (2, Some(label)) if may_learn => drop(learner.learn(label, document).unwrap()),
                    (2, None) if may_learn => drop(learner.forget(None, document)),
                    _ => drop(learner.apply(&record).unwrap()),
                }
            }
            Step::Read(n) => self.read(stream, n),
            Step::Commit => {
                self.learner().commit().unwrap();
                self.committed = self.read;
            }
            Step::Kill => {
                self.open();
                self.read = self.committed;
            }
            Step::Rewind(n) => self.read = self.read.saturating_sub(n),
        }
    }
}

fn exported(filter: &Filter) -> String {
    let mut out = Vec::new();
    crate::exchange::export(filter, true, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The lines of an export without the numbers of changes, with the fingerprints of terms in place of their texts.
fn lines(filter: &Filter) -> Vec<Value> {
    let mut lines: Vec<Value> =
        exported(filter).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        let line = line.as_object_mut().unwrap();
        if let Some(Value::Object(model)) = line.get_mut("model") {
            model.remove("changes");
            model.remove("unfitted");
        }
        if let Some(Value::String(text)) = line.get_mut("term") {
            *text = unknown_text(fingerprint_of(text));
        }
        if let Some(Value::Object(terms)) = line.get_mut("terms") {
            *terms = std::mem::take(terms)
                .into_iter()
                .map(|(text, n)| (unknown_text(fingerprint_of(&text)), n))
                .collect();
        }
    }
    lines
}

/// What servers agree on at once: no number that depends on the order of learning.
fn agreed(filter: &Filter) -> Vec<Value> {
    let mut lines = lines(filter);
    for line in &mut lines {
        let line = line.as_object_mut().unwrap();
        for derived in ["weights", "coefficients", "held_out", "learned"] {
            line.remove(derived);
        }
        if let Some(model) = line.get_mut("model") {
            *model = [&model["totals"], &model["classes"], &model["recipe"]].into_iter().cloned().collect();
        }
    }
    lines
}

fn model(options: TrainOptions, known: &[(Mail, usize)]) -> Vec<u8> {
    let mut trainer = Trainer::new(options).unwrap();
    for label in &LABELS[..2] {
        trainer.class_of(label).unwrap();
    }
    for (of, label) in known {
        trainer.add(LABELS[*label], Document::Mail(mail(*of).as_bytes())).unwrap();
    }
    trainer.finish().unwrap().as_bytes().to_vec()
}

fn options(names: bool, keep: Keep, is_bayes: bool) -> TrainOptions {
    // learned priors want a document of each label
    let parameters = Parameters { prior: ClassPrior::Smoothed, ..Scoring::parameters() };
    let scoring = is_bayes.then_some(Scoring::NaiveBayes(parameters));
    TrainOptions { names, keep: Some(keep), scoring, ..TrainOptions::new(Kind::Mail) }
}

fn known() -> impl Strategy<Value = Vec<(Mail, usize)>> {
    proptest::collection::vec(((0u8..2, 0u8..3, 0u8..3), 0usize..2), 0..6)
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    proptest::collection::vec((0usize..3, step()), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn servers_that_read_the_same_records_know_the_same(
        before in known(), steps in steps(), names: bool, digests: bool, is_bayes: bool, retrain: bool,
        limits in limits(),
    ) {
        let keep = if digests { Keep::Digests } else { Keep::Vectors };
        let start = model(options(names, keep, is_bayes), &before);
        let growth_limit = limits.1.then_some(u64::MAX);
        let learn = LearnOptions { log_limit: limits.0, growth_limit, retrain, ..LearnOptions::default() };
        let mut servers = [(); 3].map(|()| Server::new(&start, learn));
        let mut stream = Vec::new();
        for (server, step) in &steps {
            servers[*server].take(step, &mut stream, names && !digests);
        }
        // one that only reads
        let [one, two, three] = servers;
        let mut servers = [one, two, three, Server::new(&start, learn)];
        for server in &mut servers {
            server.read(&stream, usize::MAX);
            server.learner().commit().unwrap();
            server.learner().filter().verify().unwrap();
        }
        let expected = agreed(servers[3].learner().filter());
        for server in &mut servers {
            prop_assert_eq!(&agreed(server.learner().filter()), &expected);
        }
        let ends = servers.map(|mut server| {
            match server.learner().retrain() {
                Err(error) => assert!(digests && error.kind() == crate::ErrorKind::TermsNotStored, "{error}"),
                Ok(()) => server.learner().filter().verify().unwrap(),
            }
            let filter = server.learner().filter();
            (lines(filter), unchanging(filter.store().as_bytes().to_vec()))
        });
        for (lines, file) in &ends[..3] {
            prop_assert!(digests && !is_bayes || *lines == ends[3].0);
            prop_assert!(digests && !is_bayes || !names || *file == ends[3].1);
        }
    }

    /// A document that moves between labels is learned by a record as it is directly.
    #[test]
    fn a_record_does_what_learning_does(
        before in known(), of in (0u8..2, 0u8..3, 0u8..3), label in proptest::option::of(0usize..2), behind: bool,
    ) {
        let start = model(options(true, Keep::Vectors, false), &before);
        let mut servers = [(); 2].map(|()| Server::new(&start, LearnOptions::default()));
        if behind {
            let shared = model(options(true, Keep::Vectors, false), &[((1, 7, 0), 0), ((0, 8, 1), 1)]);
            let shared = Arc::new(Filter::from_bytes(shared).unwrap());
            servers.iter_mut().for_each(|server| server.learner().set_fallback(shared.clone()).unwrap());
        }
        let (text, label) = (mail(of), label.map(|label| LABELS[label]));
        let document = Document::Mail(text.as_bytes());
        let [directly, by_record] = &mut servers;
        let learner = by_record.learner();
        let record = learner.record(label, document).unwrap();
        let changed = learner.apply(&Record::from_bytes(&record.to_bytes()).unwrap()).unwrap();
        let is_same = match label.map(|label| directly.learner().learn(label, document).unwrap()) {
            // unless the message is known with other header fields too
            Some(LearnOutcome::Already) => !changed,
            Some(_) => true,
            None => changed == directly.learner().forget(None, document).is_ok(),
        };
        if is_same {
            let [directly, by_record] =
                servers.each_ref().map(|server| server.learner.as_ref().unwrap().filter());
            prop_assert_eq!(exported(directly), exported(by_record));
            let scores = [directly, by_record].map(|f| f.score(document, &mut Scratch::default()).unwrap());
            prop_assert_eq!(scores[0], scores[1]);
            return Ok(());
        }
        let [directly, by_record] = servers.each_mut().map(|server| {
            let learner = server.learner();
            learner.known_as(record.document(), None).unwrap()
        });
        let digest = record.digest();
        prop_assert!(directly.iter().any(|known| known.digest != digest));
        prop_assert!(by_record.len() == 1 && by_record[0].digest == digest);
        let copies = |known: &[StoredDocument]| known.iter().map(|known| known.multiplicity).sum::<u32>();
        prop_assert_eq!(copies(&directly), copies(&by_record));
    }
}

#[test]
fn terms_without_texts_are_their_fingerprints() {
    let start = model(options(false, Keep::Vectors, false), &[((0, 0, 0), 0), ((1, 1, 1), 1)]);
    let mut servers = [(); 2].map(|()| Server::new(&start, LearnOptions::default()));
    let document = Document::Mail(b"Message-ID: <9@example.org>\nSubject: pills\n\ncheap pills\n");
    let record = servers[0].learner().record(Some("ham"), document).unwrap().to_bytes();
    let holds = |text: &[u8]| record.windows(text.len()).any(|window| window == text);
    assert!(holds(b"ham") && !holds(b"pills") && !holds(b"cheap") && !holds(b"example"));
    for server in &mut servers {
        assert!(server.learner().apply(&Record::from_bytes(&record).unwrap()).unwrap());
        server.learner().commit().unwrap();
        let filter = server.learner().filter();
        filter.verify().unwrap();
        let explanation = filter.explain(document, &mut Scratch::default()).unwrap();
        let name = unknown_text(tamis_tokenizer::fingerprint("cheap"));
        assert!(explanation.terms.iter().any(|term| term.term == name && term.contribution != 0.0));
        let imported = import(exported(filter).as_bytes()).unwrap().into_filter().unwrap();
        let scores = [filter, &imported].map(|f| f.score(document, &mut Scratch::default()).unwrap());
        assert_eq!(scores[0], scores[1]);
        // with their texts they would say the same
        assert!(matches!(server.learner().learn("ham", document).unwrap(), LearnOutcome::Already));
        server.learner().forget(None, document).unwrap();
        server.learner().compact().unwrap();
        server.learner().filter().verify().unwrap();
        assert_eq!(counts(server.learner().filter()), counts(&Filter::from_bytes(start.clone()).unwrap()));
    }
}

#[test]
fn what_a_record_must_suit_is_said() {
    let start = model(options(true, Keep::Vectors, false), &[((0, 0, 0), 0), ((1, 1, 1), 1)]);
    let mut server = Server::new(&start, LearnOptions::default());
    let document = Document::Mail(b"Subject: pills\n\ncheap pills\n");
    let record = server.learner().record(Some("ham"), document).unwrap();
    assert_eq!(
        (record.label(), record.digest()),
        (Some("ham"), server.learner().filter().digest(document).unwrap())
    );
    // another recipe
    let mut other = options(true, Keep::Vectors, false);
    other.recipe.content_only = true;
    let mut other = Server::new(&model(other, &[]), LearnOptions::default());
    let error = other.learner().apply(&record).unwrap_err();
    assert_eq!((error.kind(), error.setting()), (crate::ErrorKind::Settings, Some("recipe")));
    assert!(error.to_string().contains("expected") && error.to_string().contains("got"), "{error}");
    // an unknown label, here and there
    assert_eq!(server.learner().record(Some("spam"), document).unwrap_err().kind(), crate::ErrorKind::Label);
    server.learner().add_label("spam").unwrap();
    let spam = server.learner().record(Some("spam"), document).unwrap();
    let mut old = Server::new(&start, LearnOptions::default());
    assert_eq!(old.learner().apply(&spam).unwrap_err().kind(), crate::ErrorKind::Label);
    // what was never learned, and what has no terms
    let forgotten = server.learner().record(None, document).unwrap();
    assert!(!old.learner().apply(&forgotten).unwrap());
    let nothing = Document::Fields(&[("", "  ")]);
    for label in [Some("ham"), None] {
        let record = old.learner().record(label, nothing).unwrap();
        assert!(!old.learner().apply(&Record::from_bytes(&record.to_bytes()).unwrap()).unwrap());
    }
    old.learner().compact().unwrap();
    assert_eq!(unchanging(old.learner().filter().store().as_bytes().to_vec()), unchanging(start));
}
