//! Naive Bayes over count vectors: integer statistics and the models derived from them
