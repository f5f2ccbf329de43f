//! What the tests share: the program, a folder of its own for each, a small model.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program's own path.
pub const TAMIS: &str = env!("CARGO_BIN_EXE_tamis");

/// The public corpora, where they are.
pub fn public_corpus(name: &str) -> Option<PathBuf> {
    let corpora =
        std::env::var_os("TAMIS_CORPORA").map_or_else(|| root().join("../shared/corpora"), PathBuf::from);
    let path = corpora.join(name);
    if !path.is_dir() {
        eprintln!("skipped: {} is not here", path.display());
        return None;
    }
    Some(path)
}

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
        let mail = root().join("corpora/mail").display().to_string();
        world.succeed(&["train", &format!("ham={mail}/ham"), &format!("spam={mail}/spam")]);
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
        command.args(arguments).current_dir(self.directory.path());
        command.env("HOME", self.directory.path()).env_remove("XDG_DATA_HOME").env_remove("TAMIS_MODEL");
        command.env_remove("TAMIS_FALLBACK");
        command.env("RUST_BACKTRACE", "0");
        command
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

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
