"""What notebooks show, and reports: self-contained, and text stays text whatever terms and labels hold."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import tamis

HOSTILE = ["<script>alert(1)</script>", "\"' onload='x", "</td></table></svg>", "&amp;", "exe\u202efdp", "${x}`"]
VOID = {"meta"}


class Page(HTMLParser):
    """The elements of a page, which must be balanced, its text, and its numbers."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.numbers: list[float] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "data":
            self.numbers.append(float(dict(attrs)["value"] or ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def assert_self_contained(html: str) -> Page:
    """No scripts, nothing loaded, no event handlers, links within the page alone."""
    page = Page(html)
    assert not {tag for tag, _ in page.tags} & {"script", "img", "link", "iframe", "object", "image", "use"}
    ids = {attributes.get("id") for _, attributes in page.tags}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert "href" not in attributes or (attributes["href"] or "")[1:] in ids
        assert "url(" not in (attributes.get("style") or "")
    drawings = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert drawings and all(drawing["role"] == "img" for drawing in drawings)
    assert all(set((drawing["aria-labelledby"] or "").split()) <= ids for drawing in drawings)
    assert "\u202e" not in html and "\x00" not in html
    return page


@pytest.fixture(scope="module")
def hostile() -> tamis.Filter:
    texts = ["a pound of pears <b>x</b>", "iron & tin"] * 3
    return tamis.Filter.train(texts, [HOSTILE[0], HOSTILE[2]] * 3, kind="text")


def test_everything_that_notebooks_ask_for(hostile: tamis.Filter) -> None:
    score, explanation = hostile.score("pears"), hostile.explain("a pound of tin pears & zebras")
    report = hostile.report(["pears", "tin"], [HOSTILE[0], HOSTILE[2]], title=HOSTILE[1])
    pages = [assert_self_contained(what._repr_html_()) for what in (hostile, score, explanation, report)]
    assert all(HOSTILE[0] in page.text for page in pages)
    assert "6 documents" in pages[0].text and "pound" in pages[0].text and "tin" in pages[0].text
    assert set(score.probabilities.values()) <= set(pages[1].numbers)
    assert {term.contribution for term in explanation.terms} <= set(pages[2].numbers)
    assert HOSTILE[1] in pages[3].text


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_labels_stay_text(label: str) -> None:
    filter = tamis.Filter.train(["pears", "tin"], [label, "metal"], kind="text")
    for html in (filter.report().html, filter.explain("pears").report(title=label).html, filter.score("tin")._repr_html_()):
        assert label.replace("\u202e", "\\u{202e}") in assert_self_contained(html).text


def test_a_report_has_the_figures_of_evaluate(hostile: tamis.Filter) -> None:
    texts, labels = ["pears", "tin", "iron", "a pound"], [HOSTILE[0], HOSTILE[2], HOSTILE[0], HOSTILE[0]]
    figures = hostile.evaluate(texts, labels)
    page = assert_self_contained(hostile.report(texts, labels).html)
    points = figures["operating_points"]
    assert {point["threshold"] for point in points} | {figures["accuracy"], figures["log_loss"]} <= set(page.numbers)
    # the worst is called by its place
    assert "documents[2]" in page.text
    with pytest.raises(tamis.TamisError, match="documents with labels, or neither"):
        hostile.report(texts)


def test_reports_are_saved_whole(hostile: tamis.Filter, tmp_path: Path) -> None:
    report = hostile.report(["pears"], [HOSTILE[0]])
    report.save(tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert html == report.html and html.startswith("<!DOCTYPE html>")
    assert "prefers-color-scheme:dark" in html and "prefers-color-scheme" not in report._repr_html_()


def test_what_is_not_shown_is_summed_up() -> None:
    words = [f"term{n}" for n in range(50)]
    filter = tamis.Filter.train([" ".join(words), "iron"], ["fruit", "metal"], kind="text")
    explanation = filter.explain(" ".join(words) + " seven zebras")
    page = Page(explanation.report().html)
    assert f"{len(explanation.terms) - 20} other terms" in page.text and "2 words not known" in page.text
    assert "other term" not in Page(explanation.report(terms=0).html).text


def test_a_filter_of_many_labels_says_how_many_it_shows() -> None:
    labels = [f"label{n:02}" for n in range(12)]
    filter = tamis.Filter.train([f"word{n}" for n in range(12)], labels, kind="text")
    page = Page(filter._repr_html_())
    assert "Terms are shown of 10 labels of 12" in page.text
    assert all(label in page.text for label in labels)
