"""Text classification as a scikit-learn estimator."""

from __future__ import annotations

import copy
import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from tamis import _tamis
from tamis._embedded import Embedded
from tamis._labels import Targets, group_names, names, read
from tamis._predictor import Predictor
from tamis._weights import check_labels, weighted

__all__ = ["TamisClassifier"]

# partial_fit fits again when the documents, or those of a rare label, have grown to this multiple
_GROWTH = 1.25
# parameters that are not options of training
_HOW = ("kind", "vectors", "encoder", "class_weight", "encoding", "decode_error", "n_jobs", "progress")


class TamisClassifier(Predictor):
    """Classify texts (or mail): text in, labels and calibrated probabilities out.

    Counts the terms of every text. By default it learns one-vs-rest log-odds, corrected by logistic regression
    and calibrated on held-out texts. It chooses the smoothing and the weight of rare terms that predict left-out
    texts best, so nothing needs tuning. With ``likelihood`` it is textbook naive Bayes. The options have the names
    and defaults of the program ``tamis train``; None means the default. The same documents and options give the
    program's model, byte for byte, with any number of threads.

    Documents are a list, a numpy array, a pandas or polars Series, or an Arrow array or chunked array of str
    or bytes. Every document counts, also one that equals another.

    With few labels, a dense vector of each text helps, such as a sentence embedding: by an encoder, ``vectors``, or as a
    ``tamis.Embedded`` of documents and vectors wherever documents are given.

    Rows of a table are documents too: a DataFrame of pandas or polars, or a table of Arrow, with several columns, of
    numbers, categories, yes or no, and texts. Its model is naive Bayes with a likelihood for each column,
    calibrated on held-out rows, as ``tamis train --target`` makes it; ``correction=False`` gives the probabilities of
    the textbook. None, NaN and other missing values do not count, nor does a text that is blank, "NA", "N/A", "NaN",
    "null" or "?". Predictions need the columns that were learned, in any order; others are ignored.

    Parameters
    ----------
    likelihood : str, default "weighted"
        "weighted", or naive Bayes: "multinomial", "bernoulli", "complement", "complement-normalized".
    alpha : float, optional
        Smoothing, added to every count; chosen by default, for naive Bayes 0.1.
    idf_power : float, optional
        Weighted: how much more rare terms weigh, 0 to 4; chosen by default.
    correction : bool, optional
        Weighted: whether to fit the correction; by default True.
    regularisation : float, optional
        Weighted: how freely the correction fits, the C of its logistic regression; by default 16.
    estimate : {"mean", "map", "ml"}, optional
        Naive Bayes: how probabilities are estimated; by default "mean".
    occurrences : bool, default False
        Naive Bayes: count every occurrence of a term, not only its presence.
    class_prior : {"learned", "smoothed", "uniform"} or dict of label to float, optional
        Naive Bayes: the class priors; by default "learned".
    min_df : int, optional
        Naive Bayes: use only terms that occur in at least this many documents.
    max_df : float, optional
        Naive Bayes: use only terms that occur in at most this share of the documents.
    max_features : int, optional
        Naive Bayes: use only this many terms, the most frequent ones.
    select : str, optional
        Naive Bayes: "chi2=N" or "mi=N" use only the N terms that tell the labels apart best.
    words : {"unicode", "mail"}, optional
        How text is cut into words; by default "unicode", for mail "mail".
    keep_case : bool, default False
        Distinguish upper and lower case.
    stop_words : str or list of str, optional
        Words to leave out: a list, or the most frequent words of a language, such as "english" or "en".
    stem : str, optional
        Reduce words to stems of this language, such as "english".
    ngrams : int or (int, int), optional
        Use sequences of this many words as terms; by default single words, and for texts also pairs (with ``ends``)
        if that predicts held-out texts better.
    ends : bool, default False
        With ``ngrams``, use also those with the beginning or the end of the text.
    pieces : bool, int or (int, int), optional
        Use pieces of words as terms too, so that forms of a word share some: of four characters, or of these
        lengths, from 2 to 5; by default, for texts, if that predicts held-out texts better.
    signs : bool, optional
        Use signs as terms too: punctuation, hashtags, mentions and capitals; by default, for texts, if that predicts
        held-out texts better.
    characters : int or (int, int), optional
        Use sequences of this many characters as terms instead.
    min_chars, max_chars : int, optional
        Leave out shorter words (by default 1); of longer words note only that they are long (by default 64, for
        mail 24).
    kind : {"text", "mail", "table"}, default "text"
        The kind of documents. Mail is raw messages as bytes. A table of several columns with names is always one.
    columns : dict of column to kind, optional
        Kinds of columns of a table: "gaussian" (numbers, normally distributed within a label), "categorical",
        "bernoulli" (yes or no), "text" or "skip". Those of other columns are guessed; see ``columns_``.
    vectors : callable or int, optional
        What makes a dense vector of each text, to score by words and meaning together: any function from a list of str
        to an array of shape (n_documents, n_dimensions), such as the ``encode`` of a model of sentence-transformers or
        model2vec. It is called with all texts that a method is given; of a table, with the columns of text. It is never
        copied, and a model file does not hold it. Or the number of dimensions, where ``partial_fit`` gets documents
        without vectors before others. By default there are vectors if documents are an ``Embedded``.
    encoder : str, optional
        The name of what makes the vectors, which the model records; it refuses vectors by another. By default the
        qualified name of ``vectors``, as "SentenceTransformer.encode", unless it is a lambda or a local function; else
        that of the ``Embedded``.
    raw : bool, default False
        Read texts that are HTML as they are, tags included, instead of as their text.
    content_only : bool, default False
        Of mail, use only the words of body and subject.
    ignore_header : list of str, optional
        Header fields of mail to ignore.
    min_precision : float, optional
        With many labels a document: give a label only where this share of those it is given to have it, with 95 %
        confidence. By default, the threshold of a label is the one with the best F1 on held-out documents.
    deduplicate : bool, default False
        Count equal mail of one label once, as the program does by default.
    seed : int, optional
        Of the order in which the correction is fitted, and of the start of expectation maximization; by default 0. The
        same seed gives the same model.
    documents : bool, optional
        Remember the terms of documents in the model, so that it can be fitted again; by default for mail, and for
        text while they take no more than 64 MB.
    class_weight : dict of label to float or "balanced", optional
        The weight of each document of a label, as of ``sample_weight``, if documents have one label each; 1 for labels
        that are not in it. A label that no document has is an error. "balanced" gives all labels the same weight in all. With naive Bayes, which counts
        documents whole, ``class_prior="uniform"`` makes labels equally likely instead.
    encoding : str, default "utf-8"
        The encoding of texts that are bytes.
    decode_error : {"strict", "ignore", "replace"}, default "strict"
        How to handle bytes that are not valid in the encoding: raise an error that names the row, leave them out,
        or use a replacement character.
    n_jobs : int, optional
        Threads: by default 1, -1 for one per core. The model does not depend on it.
    progress : bool, default False
        Show a progress bar; needs tqdm.

    Attributes
    ----------
    classes_ : numpy.ndarray, shape (n_classes,)
        The labels: sorted, or in the order of the columns of ``y``. In a model file they are text.
    filter_ : Filter or None
        The model; None if no two labels came. The same label is then always predicted or, with many labels a
        document, every label that most documents had.
    n_documents_ : int
        Documents counted, by ``fit`` or by all calls of ``partial_fit``; also unlabelled ones, if they were learned.
    n_fitted_ : int
        Documents that the model was fitted to.
    chosen_ : dict or None
        What held-out documents decided, with their log losses: smoothing, correction, terms and the use of unlabelled
        documents. As ``chosen`` of ``tamis inspect --json``, or ``table`` for a table.
    expected_ : dict or None
        How good the model was on held-out documents, as ``expected`` of ``tamis inspect --json``.
    columns_ : dict of column to kind
        Of a table: what each column was taken for. A column is skipped if it is empty, or if it is an identifier: a
        different word in each of more than 20 rows.
    feature_names_in_ : numpy.ndarray, shape (n_features_in_,)
        Of a table: the names of its columns.
    n_features_in_ : int
        Of a table: the number of its columns.

    Examples
    --------
    >>> from tamis import TamisClassifier
    >>> texts = ["apples and pears", "ripe pears", "iron and tin", "old tin cans"]
    >>> classifier = TamisClassifier().fit(texts, ["fruit", "fruit", "metal", "metal"])
    >>> classifier.predict(["a pound of pears"]).tolist()
    ['fruit']
    >>> classifier.predict_proba(["a pound of pears"]).shape
    (1, 2)

    A table:

    >>> import pandas
    >>> rides = pandas.DataFrame({"miles": [0.5, 1.5, 3.0, 7.0], "sky": ["clear", None, "rain", "rain"]})
    >>> classifier = TamisClassifier().fit(rides, ["walk", "walk", "bus", "bus"])
    >>> classifier.columns_
    {'miles': 'gaussian', 'sky': 'categorical'}
    >>> classifier.predict(pandas.DataFrame({"sky": ["rain"], "miles": [5]})).tolist()
    ['bus']
    """

    def __init__(
        self,
        *,
        likelihood: str = "weighted",
        alpha: float | None = None,
        idf_power: float | None = None,
        correction: bool | None = None,
        regularisation: float | None = None,
        estimate: str | None = None,
        occurrences: bool = False,
        class_prior: str | Mapping[Any, float] | None = None,
        min_df: int | None = None,
        max_df: float | None = None,
        max_features: int | None = None,
        select: str | None = None,
        words: str | None = None,
        keep_case: bool = False,
        stop_words: str | Sequence[str] | None = None,
        stem: str | None = None,
        ngrams: int | tuple[int, int] | None = None,
        ends: bool = False,
        pieces: bool | int | tuple[int, int] | None = None,
        signs: bool | None = None,
        characters: int | tuple[int, int] | None = None,
        min_chars: int | None = None,
        max_chars: int | None = None,
        kind: str = "text",
        columns: Mapping[str, str] | None = None,
        vectors: Callable[[list[str]], Any] | int | None = None,
        encoder: str | None = None,
        raw: bool = False,
        content_only: bool = False,
        ignore_header: Sequence[str] | None = None,
        min_precision: float | None = None,
        deduplicate: bool = False,
        seed: int | None = None,
        documents: bool | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        encoding: str = "utf-8",
        decode_error: str = "strict",
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        given = dict(locals())
        del given["self"]
        vars(self).update(given)

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, unlabelled: Any = None
    ) -> TamisClassifier:
        """Learn from labelled documents, and forget earlier ones.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,), or table, shape (n_documents, n_columns)
            Documents.
        y : array-like, shape (n_documents,) or (n_documents, n_labels)
            Their labels: text, whole numbers or booleans. If documents have any number of labels: a list (or tuple or
            set) of labels for each document; or a matrix of 0 and 1 with at least two columns, one for each label:
            a numpy array, a list of its rows, a sparse matrix, or a table whose columns are named by the labels.
        sample_weight : array-like of float, shape (n_documents,), optional
            The weight of each document, 0 to 1,000,000, times that of ``class_weight``. A whole weight is as many
            copies of the document. Of any other, the counts have the nearest number of copies, but at least one, and
            the fit takes the fraction too. Naive Bayes and tables of other columns than text take whole weights.
        groups : array-like, shape (n_documents,), optional
            The group of each document, as text or whole number: its author, thread or customer. Documents of a group
            are always held out together, so that probabilities hold for documents of new groups, as a score by
            ``GroupKFold`` does.
        unlabelled : array-like of str or bytes, shape (n_unlabelled,), optional
            Documents without labels, for when few have one. A model of the others labels them, and they count if that
            predicts held-out labelled documents better: see ``chosen_["unlabelled"]``. With the likelihood "multinomial"
            or "bernoulli" they always count, by expectation maximization.

        Returns
        -------
        TamisClassifier
            This one.

        Raises
        ------
        TamisError
            A row is missing or cannot be decoded, lengths differ, or options contradict each other.
        """
        self._begin(X, y)
        if isinstance(self.class_weight, Mapping):
            check_labels(self.class_weight, read(y).labels)
        X, y, groups, weights = weighted(sample_weight, self.class_weight, X, y, groups)
        targets = read(y)
        if targets.are_too_few:
            partial, self.n_documents_ = self._learn(_tamis.count, X, targets, groups, weights)
            self._merge([partial], targets.are_many)
        else:
            self.filter_ = self._learn(_tamis.train, X, targets, groups, weights, unlabelled)
            self._labels, self.n_documents_ = self.filter_.labels, n_learned(self.filter_)
        self.classes_, self._are_many, self.n_fitted_ = targets.labels, targets.are_many, self.n_documents_
        for learned in ("_partials", "_expected", "_counted", "_fitted"):
            vars(self).pop(learned, None)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> TamisClassifier:
        """Learn from more labelled documents.

        The counts are exact. The model is fitted to them again when the documents, or those of a rare label, have grown
        by a quarter, or when ``refit`` is called, never in ``predict``. Then it is the model of ``fit`` on all documents. See
        ``n_documents_`` and ``n_fitted_``.

        Parameters
        ----------
        X : array-like of str or bytes, shape (n_documents,)
            Documents.
        y : array-like, shape (n_documents,) or (n_documents, n_labels)
            Their labels, as in ``fit``: in every call one for each document, or in every call any number.
        classes : array-like, optional
            All labels that may come, in this call or later. They are in ``classes_`` and have probability 0 until
            they come. Once ``classes`` was given, any other label is an error.
        sample_weight : array-like of float, shape (n_documents,), optional
            The weight of each document, as in ``fit``. ``class_weight="balanced"`` is refused: it needs all documents.
        groups : array-like, shape (n_documents,), optional
            The group of each document, as in ``fit``. The same name is the same group in every call.

        Returns
        -------
        TamisClassifier
            This one.

        Raises
        ------
        TamisError
            As ``fit``; a label that is not one of ``classes``.

        Warns
        -----
        UserWarning
            After ``fit`` or ``load`` there are no counts to add to: learning starts afresh.

        Examples
        --------
        >>> from tamis import TamisClassifier
        >>> classifier = TamisClassifier()
        >>> for texts, labels in [(["apples"], ["fruit"]), (["iron", "tin"], ["metal", "metal"])]:
        ...     classifier = classifier.partial_fit(texts, labels)
        >>> classifier.predict(["apples"]).tolist(), classifier.n_fitted_
        (['fruit'], 3)
        """
        if hasattr(self, "filter_") and not hasattr(self, "_partials"):
            warnings.warn(
                "partial_fit starts afresh: fit and load keep no counts to add to; use partial_fit alone",
                stacklevel=2,
            )
            for learned in ("classes_", "n_documents_", "n_fitted_"):
                delattr(self, learned)
        if not getattr(self, "n_documents_", 0):
            self._begin(X, y)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise _tamis.TamisError('class_weight: expected a dict of label to number in partial_fit, got "balanced"')
        X, y, groups, weights = weighted(sample_weight, self.class_weight, X, y, groups)
        targets = read(y)
        if hasattr(self, "_partials") and len(targets.rows) == 0:
            targets = targets._replace(are_many=self._are_many)
        if hasattr(self, "_partials") and targets.are_many != self._are_many:
            numbers = ("one label", "many labels")
            expected, got = numbers[self._are_many], numbers[targets.are_many]
            raise _tamis.TamisError(f"expected {expected} a document, as in earlier calls, got {got}")
        known = _union(getattr(self, "classes_", None), None if classes is None else np.unique(classes))
        expected = known if classes is not None else getattr(self, "_expected", None)
        if expected is not None:
            others = sorted(set(names(targets.labels)) - set(names(expected)))
            if others:
                listed = ", ".join(names(expected))
                raise _tamis.TamisError(f"expected labels that are in classes ({listed}), got {others[0]!r}")
            if isinstance(self.class_weight, Mapping):
                check_labels(self.class_weight, expected)
            self._expected = expected
        partial, n = self._learn(_tamis.count, X, targets, groups, weights)
        self.classes_, self._are_many = _union(known, targets.labels), targets.are_many
        # a partial without documents does not know whether they have vectors
        earlier = self._partials if getattr(self, "n_documents_", 0) else []
        self._partials = [*earlier, partial]
        self.n_documents_ = getattr(self, "n_documents_", 0) + n
        labels = (label for row in targets.rows for label in (row if targets.are_many else (row,)))
        self._counted = getattr(self, "_counted", Counter()) + Counter(map(str, labels))
        return self.refit() if self._has_grown() else self

    def _has_grown(self) -> bool:
        then, total = getattr(self, "_fitted", Counter()), self.n_documents_
        # also a label that came late and is rare, but not at once for each of its documents in a large model
        rare = ((n, then[label]) for label, n in self._counted.items() if then[label] < total / 20)
        of_label = (n >= _GROWTH * known and 10 * (n - known) > n + total / 200 for n, known in rare)
        return self.n_documents_ >= _GROWTH * getattr(self, "n_fitted_", 0) or any(of_label)

    def refit(self) -> TamisClassifier:
        """Fit now to all documents of ``partial_fit``, even if few of them are new.

        Returns
        -------
        TamisClassifier
            This one. Its model is that of ``fit`` on all documents, and ``n_fitted_`` equals ``n_documents_``.

        Raises
        ------
        TamisError
            There are no counts: ``fit`` and ``load`` keep none.

        Examples
        --------
        >>> from tamis import TamisClassifier
        >>> classifier = TamisClassifier().partial_fit(["apples", "iron"] * 4, ["fruit", "metal"] * 4)
        >>> classifier.partial_fit(["pears"], ["fruit"]).n_fitted_, classifier.refit().n_fitted_
        (8, 9)
        """
        if not hasattr(self, "_partials"):
            raise _tamis.TamisError("expected documents counted by partial_fit, got none; fit and load keep no counts")
        self._partials, self.n_fitted_ = [self._merge(self._partials, self._are_many)], self.n_documents_
        self._fitted = self._counted
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str], **how: Any) -> TamisClassifier:
        """Open a model file, written by this class or by the program ``tamis``.

        Parameters
        ----------
        path : str or path
            A model of texts, mail or a table.
        **how
            ``vectors``, ``encoder``, ``encoding``, ``decode_error``, ``n_jobs`` and ``progress``, as in the constructor.
            The options of training are in the file; other parameters are for another ``fit``.

        Returns
        -------
        TamisClassifier
            With the labels of the file, which are text, as ``classes_``.
        """
        classifier = cls(**how)
        classifier.filter_ = _tamis.Filter.open(path)
        classifier.kind = classifier.filter_.information["kind"]
        if classifier.kind == "table":
            classifier.columns_ = classifier.filter_.information["columns"]
        classifier._labels, classifier._are_many = classifier.filter_.labels, classifier.filter_.has_many_labels
        classifier.classes_ = np.array(classifier._labels)
        classifier.n_documents_ = classifier.n_fitted_ = n_learned(classifier.filter_)
        return classifier

    def _learn(
        self, learn: Any, X: Any, targets: Targets, groups: Any, weights: Any, unlabelled: Any = None
    ) -> Any:
        X, unlabelled = self._embedded(X), self._embedded(unlabelled)
        if self._space is None:
            self._space = self._space_of(X)
        examples = X, targets.rows, None if groups is None else group_names(groups), weights, unlabelled
        return learn(examples, self._options(targets.are_many, X), kind=self._kind, **self._how())

    def _merge(self, partials: list[bytes], are_many: bool) -> bytes:
        """Fit to the documents of partials, and return these as one."""
        merged = _tamis.fit(partials, self._options(are_many), kind=self._kind, n_jobs=self.n_jobs)
        self.filter_, shares, partial = merged
        self._labels, self._shares = list(shares), list(shares.values())
        return partial

    def _begin(self, X: Any, y: Any) -> None:
        """Tell what a table's columns are, before its first rows are learned."""
        if self._fitted_kind == "table":
            for learned in ("columns_", "feature_names_in_", "n_features_in_", "_target"):
                delattr(self, learned)
        has_columns = self.columns is not None or len(_column_names(X) or ()) > 1
        is_table = self.kind == "table" or (self.kind == "text" and has_columns)
        self._fitted_kind = self._space = None
        if not is_table:
            return
        self._target = _name_of(y)
        columns = dict(self.columns) if isinstance(self.columns, Mapping) else self.columns
        options = {"columns": columns, "target": self._target}
        self.columns_ = _tamis.column_kinds(X, options, encoding=self.encoding, decode_error=self.decode_error)
        self._fitted_kind = "table"
        self.feature_names_in_ = np.array(list(self.columns_), dtype=object)
        self.n_features_in_ = len(self.columns_)

    def _options(self, are_many: bool, X: Any = None) -> dict[str, Any]:
        """The options of training, for the library; ``X`` are documents to learn."""
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in _HOW}
        options |= {"labels": "many" if are_many else "one", **(self._space or {})}
        if self._kind == "table":
            # columns that only later documents have are ignored
            later = dict.fromkeys(_column_names(X) or (), "skip")
            options |= {"columns": {**later, **self.columns_}, "target": self._target}
            # naive Bayes unless all columns are text
            if options["likelihood"] == "weighted":
                options["likelihood"] = None
        if isinstance(options["class_prior"], Mapping):
            options["class_prior"] = {str(label): share for label, share in options["class_prior"].items()}
        if options["stop_words"] is not None and not isinstance(options["stop_words"], str):
            options["stop_words"] = list(options["stop_words"])
        return options

    def _space_of(self, X: Any) -> dict[str, Any]:
        """The options of vectors, by the first documents that are learned."""
        if isinstance(self.vectors, Integral):
            return {"vectors": int(self.vectors), "encoder": self._encoder()}
        if self.vectors is not None and not callable(self.vectors):
            expected = "expected a function from a list of str to an array; an array is given by tamis.Embedded(X, array)"
            raise _tamis.TamisError(f"vectors: {expected}, got {type(self.vectors).__name__}")
        if isinstance(X, Embedded):
            return {"vectors": X.vectors.shape[1], "encoder": self._encoder() or X.encoder}
        return {}

    def __sklearn_clone__(self) -> TamisClassifier:
        # a method is not copied, since its model would be
        bare = copy.copy(self)
        bare.vectors = None
        fresh = super(TamisClassifier, bare).__sklearn_clone__()
        fresh.vectors = self.vectors
        return fresh

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        tags.no_validation = True
        return tags


def _union(known: Any, more: Any) -> Any:
    """All of these labels, sorted if any is new; None if nothing is given."""
    if known is None or more is None:
        return more if known is None else known
    if set(names(more)) <= set(names(known)):
        return known
    return np.unique(np.concatenate([some for some in (known, more) if len(some) > 0]))


def n_learned(model: _tamis.Filter) -> int:
    """The number of documents that a model has learned."""
    return model.information["learned"]


def _column_names(table: Any) -> list[Any] | None:
    """The names of the columns of a table; None if they have none, as those of an array."""
    table = table.documents if isinstance(table, Embedded) else table
    names = getattr(table, "column_names", getattr(table, "columns", None))
    return None if names is None or callable(names) else list(names)


def _name_of(column: Any) -> str | None:
    """The name of a Series, or of the only column of a table, if it is text."""
    names = _column_names(column) or [getattr(column, "name", None)]
    return names[0] if len(names) == 1 and isinstance(names[0], str) and names[0] else None
