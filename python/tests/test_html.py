"""What notebooks show: text stays text, whatever terms and labels hold."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

import tamis
from tamis import _html

HOSTILE = ["<script>alert(1)</script>", "\"' onload='x", "</td></table>", "&amp;", "\u202eright\x00", "${x}`"]
VOID = {"br", "hr", "img"}


class Page(HTMLParser):
    """The elements of a page, which must be balanced, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self.cells.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.cells[-1] += data


def assert_self_contained(page: Page) -> None:
    """No scripts, no links, nothing loaded, no event handlers."""
    assert {tag for tag, _ in page.tags} <= {"div", "strong", "bdi", "table", "thead", "tbody", "tr", "th", "td"}
    for _, attributes in page.tags:
        assert set(attributes) <= {"class", "style", "scope", "aria-hidden", "title"}
        assert "url(" not in (attributes.get("style") or "")


@pytest.fixture(scope="module")
def hostile() -> tamis.Filter:
    texts = ["a pound of pears <b>x</b>", "iron & tin"] * 3
    return tamis.Filter.train(texts, [HOSTILE[0], HOSTILE[2]] * 3, kind="text")


@pytest.mark.parametrize("term", HOSTILE)
def test_hostile_terms_stay_text(term: str) -> None:
    page = Page(_html.explanation(explained([(term, 1.5), ("plain", -0.5)], label=term)))
    assert_self_contained(page)
    shown = term.replace("\u202e", "\\u202e").replace("\x00", "\\x00")
    assert page.text.count(shown) >= 2
    assert "\u202e" not in page.text and "\x00" not in page.text


def explained(
    terms: list[tuple[str, float]], label: str = "spam", intercept: float = -0.25, unknown: int = 0
) -> SimpleNamespace:
    """What has the attributes of an explanation."""
    made = [
        SimpleNamespace(term=term, count=2, documents={label: 3, "ham": 1}, contribution=adds) for term, adds in terms
    ]
    total = sum((adds for _, adds in terms), intercept)
    score = SimpleNamespace(label=label, log_odds=total)
    return SimpleNamespace(
        terms=made, label=label, against="ham", intercept=intercept, unknown=unknown, score=score
    )


def test_bars_go_to_the_side_of_their_sign() -> None:
    html = _html.explanation(explained([("for", 2.0), ("against", -1.0)]))
    assert html.index("margin-left:50%") < html.index("margin-left:25.0%")
    assert "width:50.0%" in html and "width:25.0%" in html
    assert "+2.000" in html and "-1.000" in html


def test_what_is_not_shown_is_summed_up() -> None:
    page = Page(_html.explanation(explained([(f"term{n}", 1.0 - n / 100) for n in range(50)], unknown=7)))
    assert "30 other terms" in page.text and "7 words are not known" in page.text
    assert page.text.count("term1") == 11
    rest = sum(1.0 - n / 100 for n in range(20, 50))
    assert f"{rest:+.3f}" in page.text


def test_infinite_contributions_have_bars_of_full_length() -> None:
    terms = [("never", math.inf), ("nowhere", -math.inf), ("some", 0.5)]
    page = Page(_html.explanation(explained(terms)))
    assert "+inf" in page.text and "nan" not in page.text
    page = Page(_html.explanation(explained([("a", 0.0)], intercept=0.0)))
    assert "+0.000" in page.text


def test_everything_that_notebooks_ask_for(hostile: tamis.Filter) -> None:
    score, explanation = hostile.score("pears"), hostile.explain("a pound of tin pears & zebras")
    pages = [
        Page(hostile._repr_html_()),
        Page(score._repr_html_()),
        Page(explanation._repr_html_()),
        Page(_html.strongest_terms(hostile, HOSTILE[0], 3)),
    ]
    for page in pages:
        assert_self_contained(page)
        assert HOSTILE[0] in page.text
    for term in explanation.terms:
        assert term.term in pages[2].cells and f"{term.contribution:+.3f}" in pages[2].cells
    assert "6 documents" in pages[0].text and "pound" in pages[0].cells and "tin" in pages[0].cells
    assert f"{score.probability:.4f}" in pages[1].cells


def test_tables_can_be_read_aloud(hostile: tamis.Filter) -> None:
    page = Page(hostile.explain("pears and tin")._repr_html_())
    headings = [attributes for tag, attributes in page.tags if tag == "th"]
    assert {attributes["scope"] for attributes in headings} == {"col", "row"}
    bars = [attributes for _, attributes in page.tags if "height" in (attributes.get("style") or "")]
    assert bars
    # the bars are for the eye, the numbers for everyone
    assert sum(attributes.get("aria-hidden") == "true" for tag, attributes in page.tags if tag == "td") == len(bars) + 1


def test_colours_are_those_of_the_page(hostile: tamis.Filter) -> None:
    html = hostile.explain("pears")._repr_html_()
    assert "currentColor" in html and "color:inherit" in html
    assert "background:#fff" not in html and "color:#000" not in html


def test_a_filter_of_many_labels_says_how_many_it_leaves_out() -> None:
    labels = [f"label{n:02}" for n in range(12)]
    filter = tamis.Filter.train([f"word{n}" for n in range(12)], labels, kind="text")
    page = Page(filter._repr_html_())
    assert page.text.count("Terms that speak most for") == 10
    assert "2 labels more" in page.text
    assert all(label in page.cells for label in labels)
