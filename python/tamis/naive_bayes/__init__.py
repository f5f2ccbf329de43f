"""Naive Bayes over numpy arrays and scipy's sparse matrices, as scikit-learn has it, and quicker.

The five estimators have scikit-learn's parameters, methods and fitted attributes, with the same numbers in
them, so that one import changes::

    from tamis.naive_bayes import MultinomialNB

Sparse matrices are counted and scored in compiled code, without the GIL and without a matrix of labels beside
them. For text itself, :class:`tamis.TamisClassifier` is the estimator to begin with.

What differs: a label that is not among the classes of the first ``partial_fit`` is an error in every class,
where scikit-learn's discrete ones leave its row out, or count it to the first of two; and `BernoulliNB` takes
an array for `alpha`.
"""

from tamis.naive_bayes._categorical import CategoricalNB
from tamis.naive_bayes._discrete import BernoulliNB, ComplementNB, MultinomialNB
from tamis.naive_bayes._gaussian import GaussianNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
