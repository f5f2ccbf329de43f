"""What notebooks show: self-contained HTML, in the colours of the page, readable without scripts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tamis._tamis import Explanation, Filter, Score, Term

_MOST_TERMS = 20

# A notebook shows a filter at once: for each of so many labels the model is read through.
_MOST_LABELS, _TERMS_OF_LABEL, _MOST_READ = 10, 5, 2_000_000

# Colours that can be told apart in light and dark, also by who does not see red or green; text is in the page's own.
_FOR, _AGAINST = "#d97706", "#3b82f6"

_TABLE = "border-collapse:collapse;margin:.5em 0;font-variant-numeric:tabular-nums"
_CELL = "padding:.1em .6em;text-align:right;white-space:nowrap"
_TEXT = "padding:.1em .6em;text-align:left;overflow-wrap:anywhere"
_BAR = "padding:.1em .6em;min-width:16em;width:24em"


def score(score: Score) -> str:
    """The verdict on a document, with the probability of every label."""
    rows = [
        [_text(label), _number(f"{probability:.4f}"), _bar(probability, 1.0, f"{probability:.1%}")]
        for label, probability in sorted(score.probabilities.items(), key=lambda item: -item[1])
    ]
    caption = f"{_strong(score.label)}, log-odds {_nats(score.log_odds, 2)} nats"
    return _page(caption, _table(["label", "probability", ""], rows))


def explanation(explanation: Explanation) -> str:
    """What each term adds to the log-odds, as bars to the right and to the left."""
    caption = (
        f"{_strong(explanation.score.label)}: log-odds of {_strong(explanation.label)} "
        f"against {_strong(explanation.against)}, {_nats(explanation.score.log_odds, 2)} nats"
    )
    labels = [explanation.label, explanation.against]
    shown, rest = explanation.terms[:_MOST_TERMS], explanation.terms[_MOST_TERMS:]
    more = [("before any term", explanation.intercept)]
    if rest:
        more.insert(0, (f"{len(rest):,} other terms", _sum(term.contribution for term in rest)))
    notes = []
    if explanation.unknown:
        notes.append(f"{explanation.unknown:,} words are not known to the model.")
    return _page(caption, _terms(shown, labels, more), *map(escape, notes))


def filter(filter: Filter) -> str:
    """What a model is made of, and the terms that speak most for its labels."""
    information = filter.information
    documents = information["documents"]
    caption = (
        f"{_strong('Filter')} of {escape(information['kind'])}: {sum(documents.values()):,} documents, "
        f"{information['terms']:,} terms, {information['bytes']:,} bytes"
    )
    parts = [_table(["label", "documents"], [[_text(label), _number(f"{n:,}")] for label, n in documents.items()])]
    shown = filter.labels[:_MOST_LABELS]
    if information["terms"] * len(shown) <= _MOST_READ:
        parts.extend(strongest_terms(filter, label, _TERMS_OF_LABEL) for label in shown)
        if len(shown) < len(documents):
            parts.append(f"{len(documents) - len(shown)} labels more: strongest_terms(label) has their terms.")
    else:
        parts.append("strongest_terms(label) has the terms that speak most for a label.")
    return _page(caption, *parts)


def strongest_terms(filter: Filter, label: str, n: int) -> str:
    """The terms that speak most for a label."""
    caption = f"Terms that speak most for {_strong(label)}, in nats"
    return _page(caption, _terms(filter.strongest_terms(label, n), [label], [], with_count=False))


def _terms(
    terms: Sequence[Term], labels: Sequence[str], more: Sequence[tuple[str, float]], *, with_count: bool = True
) -> str:
    strengths = [abs(term.contribution) for term in terms] + [abs(adds) for _, adds in more]
    longest = max((strength for strength in strengths if math.isfinite(strength)), default=1.0) or 1.0
    rows = []
    for term in terms:
        counts = [term.count] * with_count + [term.documents[label] for label in labels]
        cells = [_number(f"{count:,}") for count in counts]
        adds = term.contribution
        rows.append([_text(term.term), _number(_nats(adds)), *cells, _signed_bar(adds, longest)])
    for what, adds in more:
        none = [_number("")] * (with_count + len(labels))
        rows.append([_text(what, "font-style:italic"), _number(_nats(adds)), *none, _signed_bar(adds, longest)])
    headings = ["term", "adds"] + ["count"] * with_count + [f"documents of {label}" for label in labels]
    return _table([*headings, ""], rows)


def _page(caption: str, *parts: str) -> str:
    body = "".join(f"<div>{part}</div>" for part in parts)
    return f'<div class="tamis" style="color:inherit;background:transparent"><div>{caption}</div>{body}</div>'


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(
        f'<th scope="col" style="{_TEXT if at == 0 else _CELL}"><bdi>{_escaped(heading)}</bdi></th>'
        if heading
        else '<td aria-hidden="true"></td>'
        for at, heading in enumerate(headings)
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _text(text: str, style: str = "") -> str:
    return f'<th scope="row" style="{_TEXT};font-weight:normal;{style}"><bdi>{_escaped(text)}</bdi></th>'


def _number(number: str) -> str:
    return f'<td style="{_CELL}">{escape(number)}</td>'


def _strong(text: str) -> str:
    return f"<strong><bdi>{_escaped(text)}</bdi></strong>"


def _bar(value: float, longest: float, title: str) -> str:
    width = 100 * _share(value, longest)
    bar = f"height:.8em;width:{width:.1f}%;background:{_FOR}"
    return f'<td style="{_BAR}" aria-hidden="true" title="{escape(title)}"><div style="{bar}"></div></td>'


def _signed_bar(adds: float, longest: float) -> str:
    """A bar from the middle: to the right what speaks for the label, to the left what speaks against it."""
    width = 50 * _share(abs(adds), longest)
    side = f"margin-left:50%;background:{_FOR}" if adds >= 0 else f"margin-left:{50 - width:.1f}%;background:{_AGAINST}"
    axis = "background:linear-gradient(currentColor,currentColor) 50%/1px 100% no-repeat"
    return (
        f'<td style="{_BAR}" aria-hidden="true"><div style="{axis}">'
        f'<div style="height:.8em;width:{width:.1f}%;{side}"></div></div></td>'
    )


def _share(value: float, longest: float) -> float:
    # without smoothing a term can add infinitely much
    return min(1.0, value / longest) if math.isfinite(value) else 1.0


def _nats(adds: float, decimals: int = 3) -> str:
    # infinities of both signs add up to neither
    return "\u00b1inf" if math.isnan(adds) else f"{adds:+.{decimals}f}"


def _sum(numbers: Iterable[float]) -> float:
    return sum(numbers, 0.0)


def _escaped(text: str) -> str:
    """Text that stays text; characters that are not printable are shown by their code."""
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return escape("".join(shown))
