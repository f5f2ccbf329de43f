"""Writes the vectors of the corpora's documents, a file SET.npz each: see README.md."""

import argparse
import os
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
from sentence_transformers import SentenceTransformer
from sets import SETS, read, some

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("corpora", help="folder of corpora")
parser.add_argument("vectors", help="folder to write to")
parser.add_argument("--model", default="all-MiniLM-L6-v2", help="name or path for SentenceTransformer")
parser.add_argument("--sets", default=",".join(SETS))
parser.add_argument("--per-label", type=int, help="the most documents to learn of each label; default all")
parser.add_argument("--test", type=int, help="the most documents to score; default all")
options = parser.parse_args()

model = SentenceTransformer(options.model, device="cpu")
os.makedirs(options.vectors, exist_ok=True)
for name in options.sets.split(","):
    start, found = time.time(), {}
    (labels, texts), (test_labels, test_texts) = read(name, options.corpora)
    test_rows = np.random.RandomState(1).permutation(len(test_labels))[: options.test]
    for part, texts, rows in (("train", texts, some(labels, options.per_label, 1)), ("test", test_texts, test_rows)):
        found[f"{part}_rows"] = rows
        found[part] = model.encode(list(texts[rows]), batch_size=32, normalize_embeddings=True)
    np.savez(os.path.join(options.vectors, f"{name}.npz"), **found)
    print(name, len(found["train"]), len(found["test"]), f"{time.time() - start:.0f} s", flush=True)
