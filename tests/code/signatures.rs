//! No parameter is a tuple to save on the number of parameters, which clippy limits.

use crate::code::rooms::{Modules, read};
use crate::support::root;

/// The parameters of every function in some code: those of its own name and argument list.
fn parameters(code: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name =
            code[at + 3..].split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let open = end_of_generics(code, at + 3 + name.len());
        // a word of a text or of a macro is followed by something else
        if name.is_empty() || !code[open..].starts_with('(') {
            continue;
        }
        let (mut depth, mut start) = (0, open + 1);
        for (i, c) in code[open..].char_indices().map(|(i, c)| (open + i, c)) {
            depth += i32::from("([{<".contains(c)) - i32::from(")]}".contains(c));
            depth -= i32::from(c == '>' && !code[..i].ends_with(['-', '=']));
            if depth == 0 || depth == 1 && c == ',' {
                found.push((name, code[start..i].trim()));
                start = i + 1;
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// Where generics that begin at `start` end; `start` itself if none do.
fn end_of_generics(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (i, c) in code[start..].char_indices().map(|(i, c)| (start + i, c)) {
        depth += i32::from(c == '<') - i32::from(c == '>' && !code[..i].ends_with(['-', '=']));
        if depth == 0 {
            return if c == '>' { i + 1 } else { i };
        }
    }
    start
}

/// Whether a parameter is a tuple, by its pattern or by its type.
fn is_tuple(parameter: &str) -> bool {
    let of_type =
        |kind: &str| kind.trim_start_matches(['&', ' ']).starts_with('(') && !kind.contains("impl ");
    parameter.starts_with('(') || parameter.split_once(':').is_some_and(|(_, kind)| of_type(kind.trim()))
}

#[test]
fn no_parameter_is_a_tuple() {
    let mut modules = Modules::new();
    for folder in ["tokenizer", "model", "mail", "filter", "report", "capi", "program", "bogofilter", "cli"] {
        read(&root().join("crates").join(folder), folder, &mut modules);
    }
    let all: Vec<_> = modules
        .iter()
        .flat_map(|(file, code)| parameters(code).into_iter().map(move |of| (file, of)))
        .collect();
    assert!(all.len() > 3_000, "{} parameters", all.len());
    let tuples: Vec<_> = all.into_iter().filter(|(_, (_, parameter))| is_tuple(parameter)).collect();
    assert!(tuples.is_empty(), "{tuples:#?}");
}

#[test]
fn tuples_are_found() {
    let code = "fn a((b, c): (u8, u8), d: impl Fn(u8, u8) -> u8, e: &(impl F + ?Sized)) {} fn f<T: Fn(u8)>(g: &(u8, u8)) {}";
    let found: Vec<_> = parameters(code).into_iter().filter(|(_, p)| is_tuple(p)).map(|(f, _)| f).collect();
    assert_eq!(found, ["a", "f"]);
}
