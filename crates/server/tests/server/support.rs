//! A server that runs in a temporary folder, and a model for it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tamis_testing::wait_for;
use tamis_train::{Document, Filter, Kind, TrainOptions, Trainer};

use crate::http_client;

/// A message that the model calls spam.
pub const SPAM: &[u8] = b"From: a@example.net\r\nTo: b@example.org\r\nSubject: cheap pills\r\nMessage-ID: <spam1@example.net>\r\n\r\nBuy cheap pills now, best offer, click here\r\n";

/// A message that the model calls ham.
pub const HAM: &[u8] = b"From: c@example.org\r\nTo: b@example.org\r\nSubject: lunch\r\nMessage-ID: <ham1@example.org>\r\n\r\nSoup at noon? See you in the meeting room\r\n";

/// The settings of the door http, at an address of its own.
pub const HTTP: &str = "[http]\nlisten = [\"tcp:127.0.0.1:0\"]\n";

/// Trains a model of mail, of a few dozen small messages.
pub fn train(path: &Path) {
    train_as(path, "spam", "ham");
}

/// As `train`, with these labels for what is spam and ham.
pub fn train_as(path: &Path, label_of_spam: &str, label_of_ham: &str) {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
    for n in 0..40 {
        let spam = format!(
            "From: s{n}@example.net\nSubject: cheap pills {n}\nMessage-ID: <s{n}@x>\n\nBuy cheap pills now, best offer {n}, click here\n"
        );
        let ham = format!(
            "From: h{n}@example.org\nSubject: lunch {n}\nMessage-ID: <h{n}@x>\n\nSoup at noon {n}? See you in the meeting room\n"
        );
        trainer.add(label_of_spam, Document::Mail(spam.as_bytes())).unwrap();
        trainer.add(label_of_ham, Document::Mail(ham.as_bytes())).unwrap();
    }
    trainer.finish().unwrap().save(path).unwrap();
}

/// The number of documents that a model has learned.
pub fn n_documents(path: &Path) -> usize {
    Filter::open(path).unwrap().information().size.documents
}

/// A server in a folder, ended when it is dropped.
pub struct Running {
    pub folder: tempfile::TempDir,
    pub child: Child,
    /// What it said so far, a line each.
    pub said: Arc<Mutex<Vec<String>>>,
}

impl Running {
    /// Starts a server with a trained shared model, `model.tamis`, and these settings beside those of models. In them,
    /// `FOLDER` stands for the folder. Waits until all doors are open.
    pub fn start(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        train(&folder.path().join("model.tamis"));
        Running::start_in(folder, settings)
    }

    /// As `start`, in a folder that is prepared. There need be no model in it.
    pub fn start_in(folder: tempfile::TempDir, settings: &str) -> Self {
        let path = folder.path().to_str().unwrap();
        let models =
            if settings.contains("[models]") { "" } else { "[models]\nshared = \"FOLDER/model.tamis\"\n" };
        let settings = format!("{settings}\n{models}").replace("FOLDER", path);
        fs::write(folder.path().join("tamisd.toml"), &settings).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tamisd"))
            .args(["--allow-root", "-c"])
            .arg(folder.path().join("tamisd.toml"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let stderr = child.stderr.take().unwrap();
        let lines = said.clone();
        thread::spawn(move || collect(stderr, &lines));
        let running = Running { folder, child, said };
        let doors = settings.matches("tcp:").count() + settings.matches("unix:").count();
        running.wait_for(|lines| lines.iter().filter(|line| line.contains(" at ")).count() >= doors);
        running
    }

    /// Waits until what was said is as expected.
    pub fn wait_for(&self, is: impl Fn(&[String]) -> bool) {
        wait_for(|| is(&self.said.lock().unwrap()), || format!("{:?}", self.said.lock().unwrap()));
    }

    /// Waits until messages of at least so many bytes are in memory; needs the door http.
    pub fn wait_for_bytes_in_flight(&self, least: usize) {
        let told = || http_client::ask(self, "GET /metrics", &[], b"").text();
        let n_bytes = || -> usize {
            let told = told();
            let line = told.lines().find_map(|line| line.strip_prefix("tamis_bytes_in_flight "));
            line.unwrap().trim().parse().unwrap()
        };
        wait_for(|| n_bytes() >= least, told);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Connects to a Unix socket in the folder.
    pub fn unix(&self, name: &str) -> UnixStream {
        let stream = UnixStream::connect(self.path(name)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// The TCP address of a door (`spamd`, `milter`, `http`), as the server said it.
    pub fn address(&self, door: &str) -> String {
        let lines = self.said.lock().unwrap();
        let line = lines
            .iter()
            .find_map(|line| line.strip_prefix(&format!("tamisd: {door} at tcp:")).map(str::to_owned));
        line.unwrap()
    }

    /// Connects to the TCP address of a door.
    pub fn tcp(&self, door: &str) -> TcpStream {
        let stream = TcpStream::connect(self.address(door)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends a signal, such as `-TERM`, to the server alone.
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(stderr: ChildStderr, lines: &Mutex<Vec<String>>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        lines.lock().unwrap().push(line);
    }
}

/// Sends all bytes over a Unix socket, half-closes it and reads the answer to its end.
pub fn exchange(mut stream: UnixStream, bytes: &[u8]) -> Vec<u8> {
    // the server may close before it has read everything
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}
