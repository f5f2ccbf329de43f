"""Fitting documents where they are, for more of them than one machine can hold.

``tamis.spark.train`` does so on Spark; this is what another engine needs. See `DistributedFit`.
"""

from tamis._tamis import DistributedFit, FitPlan, counts_of, sample_of

__all__ = ["DistributedFit", "FitPlan", "counts_of", "sample_of"]
