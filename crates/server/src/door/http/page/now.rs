//! *Now*: the numbers of the server.

use std::sync::atomic::Ordering::Relaxed;

use axum::response::{IntoResponse, Response};
use maud::html;

use crate::door::http::access::SharedContext;
use crate::door::http::page::layout::View;
use crate::models::request::ModelId;
use crate::record::Door;

/// `GET /now`
pub(super) async fn show(context: SharedContext) -> Response {
    let service = &context.service;
    let metrics = &service.metrics;
    let of = |[spam, ham, unsure, label, error]: [u64; 5]| {
        [spam + ham + unsure + label + error, spam, ham, unsure, label, error]
    };
    let (minute, all) = (of(metrics.last_minute()), of(metrics.scored()));
    let names = ["messages", "spam", "ham", "unsure", "other labels", "errors"];
    let within = |share| match metrics.quantile(share) {
        seconds if seconds.is_finite() => format!("{} ms", seconds * 1e3),
        _ => "more than 3 s".to_owned(),
    };
    let n = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed).to_string();
    let mut facts = vec![
        ("half of all messages scored within", within(0.5)),
        ("99 of 100 scored within", within(0.99)),
        ("corrections that wait", service.models().n_waiting().to_string()),
        ("learned", n(&metrics.learned)),
        ("forgotten", n(&metrics.forgotten)),
        ("refused, because the server was full", n(&metrics.refused)),
        ("defects", n(&metrics.defects)),
        ("wrong passwords", n(&metrics.wrong_passwords)),
        ("bytes of messages in the server", service.bytes_in_flight().to_string()),
        ("users' models that are open", service.models().open_users().len().to_string()),
    ];
    for door in Door::ALL {
        facts.push((
            ["connections of spamd", "of milter", "of http", "of the page"][door as usize],
            n(&metrics.connections[door as usize]),
        ));
    }
    if let Some(outbox) = service.outbox() {
        facts.push(("records that wait for the fleet", outbox.len().to_string()));
        facts.push(("records of the fleet applied", n(&metrics.fleet_applied)));
        facts.push(("records of the fleet set aside", n(&metrics.fleet_set_aside)));
    }
    let documents = service.state(ModelId::Shared).map(|state| state.documents).unwrap_or_default();
    for (label, n) in &documents {
        facts.push(("documents of a label", format!("{n} {}", label.replace(char::is_control, "?"))));
    }
    let started =
        humantime::format_duration(std::time::Duration::from_secs(service.started.elapsed().as_secs()));
    let content = html! {
        p { "Settings read " (started) " ago. " a href="/now" { "Look again" } }
        table {
            caption { "Messages" }
            thead { tr { th scope="col" { "verdict" } th scope="col" { "last minute" } th scope="col" { "since the start" } } }
            tbody { @for (name, (minute, all)) in names.into_iter().zip(minute.into_iter().zip(all)) {
                tr { th scope="row" { (name) } td.number { (minute) } td.number { (all) } }
            } }
        }
        table {
            caption { "The server" }
            tbody { @for (name, value) in facts { tr { th scope="row" { (name) } td.number { (value) } } } }
        }
    };
    View::new("/now", content).into_response()
}
