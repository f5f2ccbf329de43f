//! Order and threads change nothing, not one byte.

use crate::support::{World, root};

#[test]
fn equal_documents_give_equal_models_whatever_the_order_and_the_threads() {
    let world = World::new();
    let mail = root().join("corpora/mail").display().to_string();
    let (ham, spam) = (format!("ham={mail}/ham"), format!("spam={mail}/spam"));
    let mut models = Vec::new();
    for (i, sources) in [[&ham, &spam], [&spam, &ham]].iter().enumerate() {
        for threads in ["1", "2", "8"] {
            let model = format!("{i}-{threads}.tamis");
            world.succeed(&["train", "-m", &model, "--threads", threads, sources[0], sources[1]]);
            models.push(std::fs::read(world.path(&model)).unwrap());
        }
    }
    assert!(models.iter().all(|model| *model == models[0]));
    world.succeed(&["verify", "-m", "0-1.tamis"]);
}

#[test]
fn labels_come_in_a_stable_order_whatever_the_threads() {
    let world = World::new();
    let topics = root().join("corpora/topics").display().to_string();
    world.succeed(&["train", &format!("{topics}/train")]);
    let test = format!("{topics}/test");
    let label = |threads: &str| world.succeed(&["label", "--all", "--threads", threads, &test]);
    let one = label("1");
    assert_eq!(one, label("2"));
    assert_eq!(one, label("8"));
    let paths: Vec<_> = one.lines().skip(1).map(|row| row.split(',').next().unwrap().to_owned()).collect();
    assert!(paths.is_sorted());
}
