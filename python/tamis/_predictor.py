"""What a fitted classifier does."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tamis import _tamis
from tamis._embedded import Embedded, is_table
from tamis._labels import names, read


def _absent(name: str, instead: str) -> Any:
    """An attribute of other classifiers that has no meaning here; its error says what has."""

    def get(self: Any) -> Any:
        raise AttributeError(f"{type(self).__name__} has no {name}; {instead}")

    return property(get)


class Predictor(ClassifierMixin, BaseEstimator):
    """Predicts labels with a fitted model."""

    coef_ = _absent("coef_", "what a term adds depends on the document: use explain(text), or term_table() for terms alone")
    feature_log_prob_ = _absent("feature_log_prob_", "term_table() has the counts and weights of all terms")
    get_feature_names_out = _absent("get_feature_names_out", "terms are not columns: term_table() has them, with weights")

    # whether a document has any number of labels
    _are_many = False
    # what a fit took the documents for
    _fitted_kind: str | None = None
    # the options of its vectors; None before the first documents
    _space: dict[str, Any] | None = None

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest label of each document or, in a model of many labels, all labels of each.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,), or table
            Documents.

        Returns
        -------
        numpy.ndarray, shape (n_documents,) or (n_documents, n_classes)
            Labels, of the type of ``classes_``. With many labels a document, 1 for each label that it has, and 0 for
            the others: those whose ``decision_function`` is above 0.
        """
        if self._are_many:
            return (self.decision_function(X) > 0).astype(np.int64)
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The calibrated probability of every label.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,), or table
            Documents.

        Returns
        -------
        numpy.ndarray of float64, shape (n_documents, n_classes)
            Columns are in the order of ``classes_``. Rows add up to 1, but not with many labels a document: each then
            has a probability by itself.
        """
        return self._score(X)[0]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of the probability of every label, in nats.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,), or table
            Documents.

        Returns
        -------
        numpy.ndarray of float64, shape (n_documents, n_classes)
            As ``predict_proba``. The logarithm of 0 is that of the smallest positive number, -708.
        """
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))

    def decision_function(self, X: Any) -> np.ndarray:
        """The log-odds of every label against all others, in nats.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,), or table
            Documents.

        Returns
        -------
        numpy.ndarray of float64, shape (n_documents,) or (n_documents, n_classes)
            With two labels, the log-odds of the second, ``classes_[1]``. With many labels a document, the log-odds of
            each label less its threshold, which held-out documents set.
        """
        probabilities, log_odds = self._score(X)
        if self._are_many:
            return log_odds
        if probabilities.shape[1] == 2:
            return np.copysign(log_odds, probabilities[:, 1] - probabilities[:, 0])
        rows, best = np.arange(len(probabilities)), probabilities.argmax(axis=1)
        # those of the likeliest label are exact even if its probability is nearly 1
        odds = _log_odds(probabilities)
        odds[rows, best] = log_odds
        return odds

    def explain(self, text: Any, label: Any = None) -> _tamis.Explanation:
        """Explain the label of a document: what each of its terms adds to the log-odds.

        Parameters
        ----------
        text : str or bytes
            A document. Of a table: a row, as a dict of column to value, a Series of pandas or a table of one row.
        label : one of ``classes_``, optional
            The label to explain; by default the likeliest (in a spam filter, spam).

        Returns
        -------
        Explanation
            Its labels are text, as in the model file. A notebook shows it as bars.
        """
        model = self._model()
        if isinstance(text, bytes) and self._kind == "text":
            text = text.decode(self.encoding, self.decode_error)
        if callable(self.vectors) and not isinstance(text, Embedded):
            text = self._embedded(text if is_table(text) else [text])
        return model.explain(text, None if label is None else str(label))

    def score_table(self, X: Any) -> _tamis.Table:
        """Labels and probabilities as a table that other libraries read by Arrow's PyCapsule interface.

        ``pyarrow.table(t)``, ``polars.DataFrame(t)`` and ``pandas.DataFrame.from_arrow(t)`` read it without a
        copy.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,), or table
            Documents.

        Returns
        -------
        Table
            Columns ``label`` (as in a model file: text), ``probability`` (that of the label) and
            ``probability_LABEL`` for every label, in the order of ``classes_``. With many labels a document,
            ``labels``, a list of those that it has, instead of the first two.
        """
        (probabilities, log_odds), labels = self._score(X), names(self.classes_)
        if self._are_many:
            rows = (log_odds > 0).tolist()
            columns: dict[str, Any] = {"labels": [[name for name, has in zip(labels, row) if has] for row in rows]}
        else:
            best = probabilities.argmax(axis=1)
            columns = {"label": [labels[label] for label in best], "probability": probabilities.max(axis=1)}
        return _tamis.table(columns | {f"probability_{name}": probabilities[:, i] for i, name in enumerate(labels)})

    def term_table(self) -> _tamis.Table:
        """All terms of the model, with their counts and weights, as a table like that of ``score_table``.

        Returns
        -------
        Table
            A row per term, sorted, as of ``Filter.term_table``: ``term``, and for every label in the model
            ``documents_LABEL``, ``occurrences_LABEL`` and ``weight_LABEL``, in nats.

        Examples
        --------
        >>> import pandas
        >>> from tamis import TamisClassifier
        >>> classifier = TamisClassifier().fit(["apples", "iron ore", "iron"], ["fruit", "metal", "metal"])
        >>> terms = pandas.DataFrame.from_arrow(classifier.term_table())
        >>> terms["term"].tolist(), terms["documents_metal"].tolist()
        (['apples', 'iron', 'ore'], [0, 2, 1])
        >>> terms.filter(like="weight_").to_numpy().shape
        (3, 2)
        """
        return self._model().term_table()

    @property
    def chosen_(self) -> dict[str, Any] | None:
        check_is_fitted(self)
        return None if self.filter_ is None else self.filter_.information["chosen"]

    @property
    def expected_(self) -> dict[str, Any] | None:
        check_is_fitted(self)
        return None if self.filter_ is None else self.filter_.information["expected"]

    def evaluate(self, X: Any, y: Any) -> dict[str, Any]:
        """Measure how good the model is on labelled documents that it has not learned.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,), or table
            Documents.
        y : array-like, shape (n_documents,) or (n_documents, n_labels)
            Their labels, as in ``fit``.

        Returns
        -------
        dict
            As of ``Filter.evaluate``; labels are text, as in the model file.

        Examples
        --------
        >>> from tamis import TamisClassifier
        >>> classifier = TamisClassifier().fit(["ripe apples", "old iron"] * 9, [1, 2] * 9)
        >>> figures = classifier.evaluate(["apples", "iron ore"], [1, 2])
        >>> figures["accuracy"], [of["label"] for of in figures["classes"]]
        (1.0, ['1', '2'])
        """
        return self._model().evaluate(self._embedded(X), read(y).rows, **self._how())

    def report(self, X: Any = None, y: Any = None, title: str | None = None) -> _tamis.Report:
        """Make a page with pictures: of the model or, given labelled documents, of how good it is on them.

        Parameters
        ----------
        X, y : as in ``evaluate``, optional
            Both or neither.
        title : str, optional
            The title of the page.

        Returns
        -------
        Report
            HTML without scripts; a notebook shows it, and its ``save`` writes it to a file.
        """
        return self._model().report(self._embedded(X), None if y is None else read(y).rows, title=title, **self._how())

    def suspects(self, X: Any = None, y: Any = None) -> list[dict[str, Any]]:
        """The learned documents whose held-out scores contradict their labels: they are probably mislabelled.

        With more than two labels, every document is held out now, which takes longer than ``fit``.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,), optional
            The documents that were learned, to find suspects in. A model does not know in which row a document was.
        y : array-like, shape (n_documents,), optional
            Their labels, as in ``fit``. Give both or neither.

        Returns
        -------
        list of dict
            The worst first, as of ``Filter.suspects``. ``label`` and ``proposed`` are of the type of ``classes_``.
            ``rows`` are the rows of equal documents with that label, so ``y[rows] = proposed`` follows the proposal.

        Raises
        ------
        TamisError
            The model is naive Bayes, is of many labels a document, or does not remember what is needed
            (``documents=True``).

        Examples
        --------
        >>> from tamis import TamisClassifier
        >>> texts = [f"{text} {n}" for n in range(9) for text in ("ripe apples", "old iron")]
        >>> labels = ["fruit", "metal"] * 8 + ["metal", "metal"]
        >>> worst = TamisClassifier().fit(texts, labels).suspects(texts, labels)[0]
        >>> worst["rows"], worst["label"], worst["proposed"]
        ([16], 'metal', 'fruit')
        """
        found = self._model().suspects(self._embedded(X), None if y is None else read(y).rows, **self._how())
        own = self._own_labels()
        return [{**one, "label": own[one["label"]], "proposed": own[one["proposed"]]} for one in found]

    def drift(self, X: Any, level: float = 0.01) -> dict[str, Any]:
        """Tell whether new documents differ from those that were learned.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,)
            New documents.
        level : float, default 0.01
            Probability of reporting drift where there is none.

        Returns
        -------
        dict
            As of ``Filter.drift``: ``drift`` is True, False or, with fewer than 20 new or 50 learned documents, None.

        Raises
        ------
        TamisError
            The model is naive Bayes, is of many labels a document, or does not remember the terms of its documents
            (``documents=True``).

        Examples
        --------
        >>> from tamis import TamisClassifier
        >>> texts = [f"{text} {n}" for n in range(30) for text in ("ripe apples", "old iron")]
        >>> classifier = TamisClassifier().fit(texts, ["fruit", "metal"] * 30)
        >>> classifier.drift(texts)["drift"], classifier.drift(["oak and ash"] * 30)["drift"]
        (False, True)
        """
        return self._model().drift(self._embedded(X), level=level, **self._how())

    def suggest(self, X: Any, n: int = 20) -> list[dict[str, Any]]:
        """Name the documents without a label that would teach most, the first one first.

        A document teaches most if its label is unsure, it has many words, many others resemble it, and no labelled
        document does. Documents that were learned are left out, and of equal ones all but one.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,)
            Documents without labels.
        n : int, default 20
            Number of documents to suggest, at most 5,000.

        Returns
        -------
        list of dict
            As of ``Filter.suggest``: ``row`` is the place in ``X``. ``label``, which the model gives the document, is
            of the type of ``classes_``; ``probability`` and ``log_odds`` are of it. With many labels a document, these
            three are lists.

        Examples
        --------
        >>> from tamis import TamisClassifier
        >>> classifier = TamisClassifier().fit(["ripe apples", "old iron"] * 5, ["fruit", "metal"] * 5)
        >>> [one["row"] for one in classifier.suggest(["ripe apples", "old oak", "an old oak tree", "iron"])]
        [2, 1, 3]
        """
        found, own = self._model().suggest(self._embedded(X), n, **self._how()), self._own_labels()
        if self._are_many:
            return [{**one, "label": [own[label] for label in one["label"]]} for one in found]
        # "unsure" is no label
        return [{**one, "label": own.get(one["label"], one["label"])} for one in found]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that the program ``tamis`` reads too. Labels are stored as text.

        An existing file is replaced in one step. To keep the options, labels of other types, and the counts of
        ``partial_fit``, pickle the classifier instead.
        """
        self._model().save(path)

    @property
    def _kind(self) -> str:
        """The kind of documents; a table need not be named."""
        return self._fitted_kind or self.kind

    def _how(self) -> dict[str, Any]:
        """How documents are read, and with how many threads."""
        return {
            "n_jobs": self.n_jobs,
            "progress": bool(self.progress),
            "encoding": self.encoding,
            "decode_error": self.decode_error,
        }

    def _score(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The probability of every label, and the log-odds of the likeliest; with many labels a document, the log-odds
        of every label less its threshold.
        """
        check_is_fitted(self)
        if self.filter_ is None:
            n = len(self._texts(X, {"gaussian", "categorical", "bernoulli", "text"}))
            scores = np.tile(self._shares, (n, 1))
            log_odds = _log_odds(scores) if self._are_many else np.full(n, np.inf)
        else:
            scores, log_odds = _tamis.scores(self.filter_, self._embedded(X), **self._how())
        if self._labels == names(self.classes_):
            return scores, log_odds
        place = {name: column for column, name in enumerate(names(self.classes_))}
        ordered = np.zeros((len(scores), len(place)))
        columns = [place[label] for label in self._labels]
        ordered[:, columns] = scores
        if self._are_many:
            margins = _log_odds(np.zeros_like(ordered))
            margins[:, columns] = log_odds
            log_odds = margins
        return ordered, log_odds

    def _embedded(self, X: Any) -> Any:
        """Documents with their vectors, if this classifier makes them."""
        if X is None or isinstance(X, Embedded) or not callable(self.vectors):
            return X
        if self._kind == "mail":
            raise _tamis.TamisError("vectors: expected texts to encode, got mail; use tamis.Embedded(mail, array)")
        X = X if hasattr(X, "__len__") else list(X)
        texts = self._texts(X, {"text"})
        return Embedded(X, self.vectors(texts), self._encoder()) if texts else X

    def _encoder(self) -> str:
        """The name of what makes the vectors; empty if it has none."""
        name = getattr(self.vectors, "__qualname__", "")
        return self.encoder or ("" if "<" in name else name)

    def _texts(self, X: Any, kinds: set[str]) -> list[str]:
        """Documents as text; of a table, the columns of these kinds."""
        columns = [name for name, kind in getattr(self, "columns_", {}).items() if kind in kinds]
        if self._kind == "table" and not columns:
            raise _tamis.TamisError("vectors: expected a column of text to encode, got none")
        how = {"encoding": self.encoding, "decode_error": self.decode_error}
        return _tamis.texts(X, kind=self._kind, columns=columns, **how)

    def _model(self) -> _tamis.Filter:
        check_is_fitted(self)
        if self.filter_ is None:
            raise _tamis.TamisError("expected a model of at least 2 labels, got one of 1")
        return self.filter_

    def _own_labels(self) -> dict[str, Any]:
        """The labels of ``classes_`` by their text in the model."""
        return dict(zip(names(self.classes_), self.classes_.tolist()))

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._model_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._model_html()
        return bundle

    def _model_html(self) -> str:
        """What a notebook shows of the model below scikit-learn's diagram."""
        model = getattr(self, "filter_", None)
        return "" if model is None else model._repr_html_()


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities as log-odds that are finite."""
    inner = np.clip(probabilities, np.finfo(float).tiny, 1 - np.finfo(float).eps)
    return np.log(inner) - np.log1p(-inner)
