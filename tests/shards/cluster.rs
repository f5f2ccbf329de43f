//! The scripts of `contrib/cluster`: tasks of Slurm and Kubernetes become the model of one training, also where they are run
//! twice.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{TAMIS, World, root, stderr, stdout};

/// A collection of topics, a document a line of `list`, and the model of one training over them.
fn collection() -> World {
    let world = World::new();
    let topics = root().join("corpora/topics/train");
    let mut list = Vec::new();
    for label in fs::read_dir(&topics).unwrap().map(Result::unwrap) {
        for text in fs::read_dir(label.path()).unwrap().map(Result::unwrap) {
            list.push(format!("{}={}\n", label.file_name().display(), text.path().display()));
        }
    }
    list.sort();
    assert!(list.len() > 100);
    world.write("list", list.concat());
    world.succeed(&["train", "-m", "whole", "--repeat", "--no-names", topics.to_str().unwrap()]);
    world
}

/// Runs a program of a cluster's node in a world, with `tamis` in the path and folder `bin` before everything.
fn run(world: &World, arguments: &[&str], task: Option<(&str, u64)>) -> Output {
    let mut command = Command::new(arguments[0]);
    command.args(&arguments[1..]).current_dir(world.path(""));
    let program = Path::new(TAMIS).parent().unwrap().display();
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{program}:{path}", world.path("bin").display()));
    command.env_remove("SLURM_ARRAY_TASK_ID").env_remove("JOB_COMPLETION_INDEX");
    if let Some((name, index)) = task {
        command.env(name, index.to_string());
    }
    command.output().unwrap()
}

#[track_caller]
fn succeed(world: &World, arguments: &[&str], task: Option<(&str, u64)>) -> String {
    let output = run(world, arguments, task);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn script(name: &str) -> String {
    root().join("contrib/cluster").join(name).display().to_string()
}

#[track_caller]
fn check_model(world: &World, out: &str) {
    let [whole, model] = ["whole".into(), format!("{out}/model.tamis")].map(|at| fs::read(world.path(&at)));
    assert!(whole.unwrap() == model.unwrap());
}

#[test]
fn tasks_that_are_run_twice_count_once() {
    let (world, cluster) = (collection(), script("cluster.sh"));
    let task = |arguments: &[&str], index| {
        succeed(&world, &[&[&*cluster], arguments].concat(), Some(("SLURM_ARRAY_TASK_ID", index)));
    };
    assert_eq!(succeed(&world, &[&cluster, "levels", "70"], None), "9\n2\n");
    for index in (0..70).rev().chain([3, 69]) {
        task(&["count", "list", "70", "out"], index);
    }
    // of a task that died
    world.write("out/0/.tmpabcdef", "half a partial");
    for (level, width) in [("1", 9), ("2", 2)] {
        (0..width).chain([0]).for_each(|index| task(&["merge", level, "70", "out"], index));
    }
    for _ in 0..2 {
        succeed(&world, &[&cluster, "model", "70", "out"], None);
        check_model(&world, "out");
    }
}

#[test]
fn slurm_runs_the_arrays_in_order() {
    let world = collection();
    // Slurm keeps a copy of the script, and begins an array when what it depends on has succeeded
    let sbatch = r#"#!/bin/bash
set -euo pipefail
echo "$*" >> submitted
while [ "${1#--}" != "$1" ]; do
    case $1 in --array=*) array=${1#--array=0-} ;; --dependency=*) test -e "done-${1#--dependency=afterok:}" ;; esac
    shift
done
number=$(wc -l < submitted)
cp "$1" "job-$number"
shift
for ((i = 0; i <= array; i++)); do SLURM_ARRAY_TASK_ID=$i "./job-$number" "$@" > /dev/null; done
touch "done-$number"
echo "$number;cluster"
"#;
    let path = world.write("bin/sbatch", sbatch);
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let slurm = script("slurm.sh");
    for (out, tasks, jobs) in [("few", "3", 2), ("more", "20", 3)] {
        assert_eq!(succeed(&world, &[&slurm, "list", tasks, out], None), format!("{jobs}\n"));
        check_model(&world, out);
        fs::remove_file(world.path("submitted")).unwrap();
    }
    // options are those of training
    succeed(&world, &[&slurm, "list", "20", "stems", "--stem", "english"], None);
    let inspected = world.succeed(&["inspect", "-m", "stems/model.tamis"]);
    assert!(inspected.contains("english"), "{inspected}");
}

#[test]
fn jobs_of_kubernetes_make_the_model() {
    let world = collection();
    let manifest = fs::read_to_string(script("kubernetes.yaml")).unwrap();
    let (mut completions, mut jobs) = (0, 0);
    for line in manifest.lines().map(str::trim) {
        if let Some(number) = line.strip_prefix("completions: ") {
            completions = number.parse().unwrap();
        } else if let Some(command) = line.strip_prefix("command: ") {
            let local = command.replace("/data/", "").replace("/scripts/", &script(""));
            let arguments: Vec<String> = serde_json::from_str(&local).unwrap();
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            for index in 0..completions {
                succeed(&world, &arguments, Some(("JOB_COMPLETION_INDEX", index)));
            }
            jobs += 1;
        }
    }
    assert_eq!(jobs, 3);
    check_model(&world, "out");
}

#[test]
fn what_is_missing_is_named() {
    let (world, cluster) = (collection(), script("cluster.sh"));
    let slurm = |index| Some(("SLURM_ARRAY_TASK_ID", index));
    (0..2).for_each(|index| drop(succeed(&world, &[&cluster, "count", "list", "3", "out"], slurm(index))));
    for (arguments, task, expected) in [
        (&["model", "3", "out"][..], None, "out/0/2.partial"),
        (&["merge", "1", "3", "out"], slurm(0), "out/0/2.partial"),
        (&["merge", "1", "9", "out"], slurm(2), "expected the number of a task below 2, got 2"),
        (&["merge", "1", "9", "out"], None, "expected the number of a task"),
        (&["count", "list", "9", "out"], slurm(9), "expected the number of a task below 9, got 9"),
        (&["count", "list", "9", "out"], None, "expected the number of a task below 9, got none"),
        (&["count", "list", "1000", "out"], slurm(1), "list: expected a line or more for each of 1000 tasks"),
        (&["count", "none", "9", "out"], slurm(1), "none"),
        (&["train"], None, "expected count, merge, model or levels, got train"),
    ] {
        let output = run(&world, &[&[&*cluster], arguments].concat(), task);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
    assert!(!world.path("out/model.tamis").exists());
}
