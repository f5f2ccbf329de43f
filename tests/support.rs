//! What the tests share: the program, a folder of its own for each, a small model.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;

pub use tamis_testing::{skip, wait_for};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A message of the project's corpus that [`World::with_mail_model`] has not learned.
pub fn inbox(name: &str) -> Vec<u8> {
    fs::read(root().join("corpora/mail/inbox").join(name)).unwrap()
}

/// The program's own path.
pub const TAMIS: &str = env!("CARGO_BIN_EXE_tamis");

/// A folder that is a whole world: home, working folder and default model of the programs started in it.
pub struct World {
    directory: TempDir,
}

impl World {
    pub fn new() -> Self {
        World { directory: tempfile::tempdir().unwrap() }
    }

    /// A world with a mail model trained on the project's corpus, at the default place.
    pub fn with_mail_model() -> Self {
        let world = World::new();
        world.write(".local/share/tamis/model.tamis", mail_model());
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file, making its folders.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(TAMIS);
        command.args(arguments);
        self.at_home(command)
    }

    /// Lets a command, such as a shell that starts the program, run in this world alone.
    pub fn at_home(&self, mut command: Command) -> Command {
        command.current_dir(self.directory.path()).env("HOME", self.directory.path());
        command.env_remove("XDG_DATA_HOME").env_remove("TAMIS_MODEL").env_remove("TAMIS_FALLBACK");
        command.env("RUST_BACKTRACE", "0");
        command
    }

    /// Locks a model against all who would change it until the file is dropped.
    pub fn lock(&self, model: &str) -> File {
        let path = self.path(&format!("{model}.lock"));
        let file = File::options().write(true).create(true).truncate(false).open(path).unwrap();
        file.lock().unwrap();
        file
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.run_with_input(arguments, b"")
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        feed(self.command(arguments), input)
    }

    /// Runs a command that must succeed and returns what it printed.
    #[track_caller]
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "tamis {arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail as errors do, and returns what it said.
    #[track_caller]
    pub fn fail(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(3), "tamis {arguments:?}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(!said.contains("panicked"), "{said}");
        said
    }
}

/// A mail model trained on the project's corpus, once for all tests.
pub fn mail_model() -> &'static [u8] {
    static MODEL: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let world = World::new();
        let mail = root().join("corpora/mail").display().to_string();
        world.succeed(&["train", "-m", "model", &format!("ham={mail}/ham"), &format!("spam={mail}/spam")]);
        fs::read(world.path("model")).unwrap()
    });
    &MODEL
}

/// Runs a command with this on its standard input.
pub fn feed(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // The program may stop reading before the end: no failure of ours.
        scope.spawn(move || pipe.write_all(input));
        child.wait_with_output().unwrap()
    })
}

/// Whether one of these programs is missing; says that the test skips then, or fails it where nothing may be skipped
/// (`TAMIS_SKIP_NOTHING`, see `.ci/recipes`).
#[track_caller]
pub fn skip_without(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let missing = programs.iter().find(|name| !is_there(name));
    if let Some(name) = missing {
        skip(&format!("there is no {name}"));
    }
    missing.is_some()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The header fields of the verdict that a message came out with. Panics if anything else of it has changed.
#[track_caller]
pub fn verdict_fields(message: &[u8], out: &[u8]) -> String {
    let added = out.len().checked_sub(message.len()).expect("a message that came out shorter than it was");
    // by blocks first, since a message may have millions of header fields
    let same = 4_096 * out.chunks(4_096).zip(message.chunks(4_096)).take_while(|(a, b)| a == b).count();
    let same = same.min(message.len());
    let same = same + out[same..].iter().zip(&message[same..]).take_while(|(a, b)| a == b).count();
    // what follows the fields may begin as they do
    for start in (same.saturating_sub(300)..=same).rev() {
        let fields = String::from_utf8_lossy(&out[start..start + added]);
        let mut lines = fields.trim_matches(['\r', '\n']).lines();
        let is_field = |line: &str| {
            ["X-Spam-Flag: ", "X-Spam-Status: ", "X-Spam-Level:", "X-Tamis: "]
                .iter()
                .any(|name| line.starts_with(name))
        };
        if lines.clone().any(|line| line.starts_with("X-Tamis: ")) && lines.all(is_field) {
            assert!(out[start + added..] == message[start..], "what follows the fields has changed");
            return fields.into_owned();
        }
    }
    panic!(
        "no verdict alone was added to {} bytes: {}",
        message.len(),
        String::from_utf8_lossy(&out[..out.len().min(2_000)])
    );
}
