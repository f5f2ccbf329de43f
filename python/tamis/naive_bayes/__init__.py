"""Naive Bayes over numpy arrays and scipy's sparse matrices, like scikit-learn's but faster.

The five estimators have scikit-learn's parameters, methods and fitted attributes, with the same numbers. Only the
import changes::

    from tamis.naive_bayes import MultinomialNB

Sparse matrices are counted and scored in compiled code, without the GIL and without a matrix of labels. For plain
text, start with :class:`tamis.TamisClassifier`.

Two things differ. A label that is not among the classes of the first ``partial_fit`` is an error; scikit-learn's
discrete estimators leave its row out or, with two classes, count it to the first. `BernoulliNB` takes an array for
`alpha`.
"""

from tamis.naive_bayes._categorical import CategoricalNB
from tamis.naive_bayes._discrete import BernoulliNB, ComplementNB, MultinomialNB
from tamis.naive_bayes._gaussian import GaussianNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
