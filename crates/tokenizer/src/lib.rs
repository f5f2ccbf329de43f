//! Text to terms, and terms to count vectors over a vocabulary
