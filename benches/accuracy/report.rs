//! The figures as tables in Markdown, beside what they should reach and what peers have.

use crate::answers::{Answers, Column};
use crate::goals::{AT_LEAST, AT_MOST, Goal, PEERS, REACH};

/// Collects rows; each figure is checked to be a number.
#[derive(Default)]
pub struct Report {
    rows: Vec<(String, Vec<Option<f64>>)>,
    singles: Vec<(String, f64, usize, Option<Goal>)>,
}

/// A line of the goals: whose figure, and what was asked.
struct Verdict {
    what: String,
    shown: String,
    asked: String,
    reached: bool,
}

impl Report {
    /// A row of the first table.
    pub fn row(&mut self, name: &str, answers: &Answers, train_cpu: Option<f64>) {
        let figure = |column| if column == Column::TrainCpu { train_cpu } else { answers.figure(column) };
        let figures: Vec<_> = Column::ALL.into_iter().map(figure).collect();
        assert!(figures.iter().flatten().all(|figure| figure.is_finite()), "{name}: {figures:?}");
        eprintln!("  {name}: {}", cells(&figures).join(" "));
        self.rows.push((name.to_owned(), figures));
    }

    /// A row of the second table: one figure, which should reach what the goals ask.
    pub fn single(&mut self, name: &str, figure: f64, decimals: usize) {
        let find = |goals: &[(&str, f64)]| goals.iter().find(|(of, _)| *of == name).map(|(_, limit)| *limit);
        let goal = |at_least, goals: &[(&str, f64)]| find(goals).map(|limit| Goal { limit, at_least });
        self.single_to(name, figure, decimals, goal(true, &AT_LEAST).or(goal(false, &AT_MOST)));
    }

    /// A row of the second table: one figure, and what it should reach.
    pub fn single_to(&mut self, name: &str, figure: f64, decimals: usize, goal: Option<Goal>) {
        assert!(figure.is_finite(), "{name}: {figure}");
        eprintln!("  {name}: {figure:.decimals$}");
        self.singles.push((name.to_owned(), figure, decimals, goal));
    }

    pub fn print(&self) {
        let names: Vec<String> = Column::ALL.iter().map(|column| column.name().to_owned()).collect();
        let mut verdicts = Vec::new();
        if !self.rows.is_empty() {
            println!("| | {} |\n| --- |{}", names.join(" | "), " ---: |".repeat(names.len()));
            self.rows.iter().for_each(|(name, figures)| print_row(name, figures, &mut verdicts));
        }
        if !self.singles.is_empty() {
            println!("\n| | figure | to reach |\n| --- | ---: | ---: |");
            self.singles.iter().for_each(|single| print_single(single, &mut verdicts));
        }
        let (reached, missed): (Vec<_>, Vec<_>) = verdicts.into_iter().partition(|verdict| verdict.reached);
        println!("\n{} of {} figures reach what is asked", reached.len(), reached.len() + missed.len());
        for Verdict { what, shown, asked, .. } in missed {
            println!("* not reached: {what}: {shown}, asked {asked}");
        }
    }
}

/// A row of figures; below it what is asked of them, and what the best peer has.
fn print_row(name: &str, figures: &[Option<f64>], verdicts: &mut Vec<Verdict>) {
    println!("| **{name}** | {} |", cells(figures).join(" | "));
    let asked = |column: Column| {
        let goals = REACH.iter().filter(|(row, _)| *row == name).flat_map(|(_, goals)| goals.iter());
        goals.clone().find(|(of, _)| *of == column).map(|(_, limit)| *limit)
    };
    let mut limits = Vec::new();
    for (column, figure) in Column::ALL.into_iter().zip(figures) {
        let goal = asked(column).map(|limit| Goal { limit, at_least: column.is_gain() });
        if let (Some(goal), Some(figure)) = (goal, figure) {
            let what = format!("{name}, {}", column.name());
            verdicts.push(verdict(what, *figure, column.decimals(), goal));
        }
        limits.push(goal.map_or_else(String::new, Goal::shown));
    }
    if limits.iter().any(|limit| !limit.is_empty()) {
        println!("| to reach | {} |", limits.join(" | "));
    }
    for (_, peer, has) in PEERS.iter().filter(|(row, ..)| *row == name) {
        let figure = |column| has.iter().find(|(of, _)| *of == column);
        let shown = |column| figure(column).map_or_else(String::new, |(_, figure)| figure.to_string());
        println!("| {peer} | {} |", Column::ALL.map(shown).join(" | "));
    }
}

fn print_single(
    (name, figure, decimals, goal): &(String, f64, usize, Option<Goal>),
    verdicts: &mut Vec<Verdict>,
) {
    let asked = goal.map_or_else(String::new, Goal::shown);
    println!("| {name} | {figure:.decimals$} | {asked} |");
    verdicts.extend(goal.map(|goal| verdict(name.clone(), *figure, *decimals, goal)));
}

/// Figures are held against what is asked as they are shown, rounded.
fn verdict(what: String, figure: f64, decimals: usize, goal: Goal) -> Verdict {
    let shown = format!("{figure:.decimals$}");
    let rounded: f64 = shown.parse().unwrap();
    let reached = if goal.at_least { rounded >= goal.limit } else { rounded <= goal.limit };
    Verdict { what, shown, asked: goal.shown(), reached }
}

fn cells(figures: &[Option<f64>]) -> Vec<String> {
    let cell = |(figure, column): (&Option<f64>, Column)| {
        figure.map_or_else(String::new, |figure| format!("{figure:.*}", column.decimals()))
    };
    figures.iter().zip(Column::ALL).map(cell).collect()
}
