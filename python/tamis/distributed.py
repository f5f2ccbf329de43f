"""Distributed fits, for more documents than one machine can hold.

``tamis.spark.train`` uses this on Spark; other engines can do the same. See `DistributedFit`.
"""

from tamis._tamis import DistributedFit, FitPlan, counts_of, sample_of

__all__ = ["DistributedFit", "FitPlan", "counts_of", "sample_of"]
