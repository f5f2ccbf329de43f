"""Writes recipe.json: the default scoring worked out on two small sets of documents, slowly and by its formulas.

    pip install numpy && python3 tests/golden/recipe.py

Nothing here is fast: a document is left out by counting all others, logistic regression is solved until nothing moves. The
tests need only the output. Classes are 0, 1, ...; of two classes there is one column, that of class 1. Logarithms are
natural. A document is (class, copies, {term: count}); n copies are one document that counts n times everywhere.

The file has, of each set:
  documents      rows of counts: class, copies, [[term, count], ...]
  grid           step 1: alpha, power of idf and the log loss of leave-one-out scores with their own k
  left_out       leave-one-out scores s with the alpha and power of least loss, and with others; a column a class (of two: one)
  k              of the first of them; two classes: B = k0 s + k1; many: B_c = k0 s_c + k1 ln P_c
  offsets        o: of two classes B, of many the log-odds of each class by softmax(B)
  correction     of every C and tau: coefficients and biases of the optimum, and the objective there; also the objective
                 that the engine's passes come to, mean, least and most of ten orders: after ten passes, and when
                 nothing moves any more (of many classes that is above the optimum, as only competing classes learn)
  fold           which documents are held out together
  held_out       B and d of each document by the fold that did not have it, at the optimum
  q              two classes: z = q0 B + q1 d + q2; many: z_c = q0 B_c + q1 d_c, fitted to held_out

A document without terms is counted, but has no coefficient, no held-out scores and no part in any fit: null.
"""

import json
import math
import pathlib

import numpy as np

# ---- what is easily changed -----------------------------------------------------------------------------------------
ALPHAS = [0.03, 0.1, 0.3, 1.0, 3.0]
POWERS = [0.0, 0.5, 1.0]
OTHERS = [(0.1, 0.5)]  # alpha and power of which scores are kept as well
CORRECTIONS = [(16.0, 0.5), (16.0, 1.0)]  # C, tau; held-out scores and q are with the first
COMPETES = 0.05  # the least probability of another class that learns, among many
PASSES, TOLERANCE = 10, 0.02  # of the engine's passes; the optimum is solved to 1e-12
FOLDS = 5
RIDGE = 0.1  # on k and q in standardised units, around the constants below
SHRINK = 10.0  # documents that the constants are worth
MOST_COPIES = 1000
CONSTANTS = {"k": {2: [0.3, 0.0], "many": [0.4, 1.0]}, "q": {2: [1.0, 1.0, 0.0], "many": [0.4, 2.0]}}


def constants(what, n_classes):
    return np.array(CONSTANTS[what][2 if n_classes == 2 else "many"])


def log_tf(count):
    """ln(1 + tf) by the engine's table of whole numbers, 16 to a doubling"""
    return round(16 * math.log2(1 + min(count, 65535))) * math.log(2) / 16


def weight(document):
    return min(document[1], MOST_COPIES)


# ---- step 1: counts, and scores by them -------------------------------------------------------------------------------
class Counts:
    """In how many documents of each class a term occurs."""

    def __init__(self, documents, n_classes):
        self.n_classes = n_classes
        self.documents = np.zeros(n_classes)
        self.n = {}
        for of, copies, terms in documents:
            self.documents[of] += copies
            for term in terms:
                self.n.setdefault(term, np.zeros(n_classes))[of] += copies
        self.totals = sum(self.n.values(), np.zeros(n_classes))

    def idf(self, term):
        return math.log((self.documents.sum() + 1) / self.n[term].sum()) if term in self.n else 0.0

    def scores(self, terms, alpha, power):
        """s_c = sum(v w_c) / |v|, w the log-odds of a term's presence in a class against all others"""
        known = [(term, log_tf(count) * self.idf(term) ** power) for term, count in terms.items() if term in self.n]
        total, all_terms = np.zeros(self.n_classes), alpha * len(self.n)
        for term, v in known:
            of_class, of_rest = self.n[term], self.n[term].sum() - self.n[term]
            rest = self.totals.sum() - self.totals
            total += v * (
                np.log((of_class + alpha) / (self.totals + all_terms)) - np.log((of_rest + alpha) / (rest + all_terms))
            )
        norm = math.sqrt(sum(v * v for _, v in known))
        scores = total / norm if norm > 0 else np.zeros(self.n_classes)
        return scores if self.n_classes > 2 else scores[1:]

    def prior(self):
        """what k1 multiplies: the log of a class's share; of two classes 1"""
        shares = (self.documents + 0.5) / (self.documents.sum() + 0.5 * self.n_classes)
        return np.log(shares) if self.n_classes > 2 else np.ones(1)

    def bayes(self, scores, k):
        return k[0] * scores + k[1] * self.prior()


def left_out(documents, n_classes, alpha, power):
    """the score of each document by the counts of all others"""
    for i, (_, _, terms) in enumerate(documents):
        others = documents[:i] + documents[i + 1 :]
        yield Counts(others, n_classes).scores(terms, alpha, power)


# ---- weights of least log loss: k and q -------------------------------------------------------------------------------
def log_softmax(z):
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


def log_probabilities(z):
    """of all classes, from one log-odds a document (two classes) or one logit a class"""
    return log_softmax(np.hstack([np.zeros_like(z), z]) if z.shape[1] == 1 else z)


def log_loss(z, documents):
    weights = np.array([weight(d) for d in documents])
    losses = -log_probabilities(z)[np.arange(len(documents)), [d[0] for d in documents]]
    return float((weights * losses).sum() / weights.sum())


def targets(documents, n_classes):
    """Platt's: not quite 0 and 1"""
    n = sum(weight(d) for d in documents)
    positives = sum(weight(d) for d in documents if d[0] == 1)
    rows = []
    for of, _, _ in documents:
        if n_classes == 2:
            p = (positives + 1) / (positives + 2) if of == 1 else 1 / (n - positives + 2)
            rows.append([1 - p, p])
        else:
            row = np.full(n_classes, 1 / (n + 2) / n_classes)
            row[of] += 1 - 1 / (n + 2)
            rows.append(row)
    return np.array(rows)


def fit(parts, documents, n_classes, center):
    """theta of least log loss of sum(theta_j part_j) (parts: documents x columns), near `center`"""
    w = np.array([weight(d) for d in documents], float)
    if n_classes > 2:
        parts = [p - p.mean(1, keepdims=True) for p in parts]
    scale = np.array([deviation(p, w) for p in parts])
    a = np.stack([p / s for p, s in zip(parts, scale)], 2)
    if n_classes == 2:
        a = np.concatenate([np.zeros_like(a), a], 1)
    t, theta0 = targets(documents, n_classes), center * scale

    def objective(theta):
        return -(w[:, None] * t * log_softmax(a @ theta)).sum() + RIDGE / 2 * ((theta - theta0) ** 2).sum()

    theta = theta0
    for _ in range(200):
        p = np.exp(log_softmax(a @ theta))
        mean = np.einsum("nk,nkj->nj", p, a)
        gradient = -np.einsum("n,nk,nkj->j", w, t - p, a) + RIDGE * (theta - theta0)
        hessian = np.einsum("n,nk,nkj,nkl->jl", w, p, a, a) - np.einsum("n,nj,nl->jl", w, mean, mean)
        step, length = np.linalg.solve(hessian + RIDGE * np.eye(len(theta)), gradient), 1.0
        while length > 1e-9 and objective(theta - length * step) > objective(theta) + 1e-12:
            length /= 2
        theta = theta - length * step
        if abs(step).max() < 1e-13:
            break
    assert abs(gradient).max() < 1e-8, gradient
    n = w.sum()
    return (n * theta / scale + SHRINK * center) / (n + SHRINK)


def deviation(part, w):
    """of all entries, a document's counted as often as it has copies; 1 of a constant"""
    of_entries = np.broadcast_to(w[:, None], part.shape)
    mean = (of_entries * part).sum() / of_entries.sum()
    deviation = math.sqrt((of_entries * (part - mean) ** 2).sum() / of_entries.sum())
    return deviation if deviation > 1e-9 else 1.0


def offsets(bayes):
    """log-odds of each class against all others"""
    if bayes.shape[1] == 1:
        return bayes
    l = log_softmax(bayes)
    return np.clip(l - np.log(np.maximum(-np.expm1(l), 1e-7)), -15, 15)


# ---- step 2: the correction -------------------------------------------------------------------------------------------
def features(documents, counts, terms):
    """x = v / max(|v|, 1), v = ln(1 + tf) idf, and 1 for the bias in the last column: documents x (terms + 1)"""
    x = np.zeros((len(documents), len(terms) + 1))
    for row, (_, _, counted) in zip(x, documents):
        for term, count in counted.items():
            row[terms[term]] = log_tf(count) * counts.idf(term)
        row /= max(math.sqrt((row * row).sum()), 1.0)
        row[-1] = 1.0
    return x


def signs(documents, n_classes):
    columns = range(n_classes) if n_classes > 2 else [1]
    return np.array([[1.0 if of == column else -1.0 for column in columns] for of, _, _ in documents])


def objective(x, s, cost, offset, w):
    """what is least at the optimum: sum over columns of |w|^2 / 2 + sum over documents of n C ln(1 + exp(-s z))"""
    return float((w * w).sum() / 2 + (cost[:, None] * np.logaddexp(0, -s * (offset + x @ w))).sum())


def optimum(x, s, cost, offset):
    """Each column by Newton's method over its weights. At the optimum w = sum of c x with c = n C s sigmoid(-s z)."""
    w = np.zeros((x.shape[1], s.shape[1]))
    for k in range(s.shape[1]):
        for _ in range(200):
            e = 1 / (1 + np.exp(s[:, k] * (offset[:, k] + x @ w[:, k])))
            gradient = w[:, k] - x.T @ (cost * s[:, k] * e)
            hessian = np.eye(x.shape[1]) + x.T @ ((cost * e * (1 - e))[:, None] * x)
            step, length, at = np.linalg.solve(hessian, gradient), 1.0, objective(x, s, cost, offset, w)
            before = w[:, k].copy()
            w[:, k] = before - step
            while length > 1e-9 and objective(x, s, cost, offset, w) > at + 1e-12:
                length /= 2
                w[:, k] = before - length * step
            if abs(step).max() < 1e-13:
                break
    c = cost[:, None] * s / (1 + np.exp(s * (offset + x @ w)))
    assert abs(x.T @ c - w).max() < 1e-10
    return c, w


def passes(x, s, cost, offset, seed, most=PASSES, tolerance=TOLERANCE, competes=COMPETES):
    """What the engine does: coordinate ascent in the dual, each coefficient in turn replaced by n C s e with
    e = sigmoid(-s z), z with that very coefficient; of many classes those that do not compete get none."""
    random = np.random.default_rng(seed)
    c, w = np.zeros(s.shape), np.zeros((x.shape[1], s.shape[1]))
    for _ in range(most):
        worst = 0.0
        for i in random.permutation(len(x)):
            own = x[i] @ x[i]
            margin = s[i] * (offset[i] + x[i] @ w - own * c[i])
            for k, m in enumerate(margin):
                learns = s.shape[1] == 1 or s[i, k] > 0 or 1 / (1 + math.exp(m)) >= competes
                delta = (s[i, k] * cost[i] * error(m, own * cost[i]) if learns else 0.0) - c[i, k]
                worst = max(worst, abs(delta) / cost[i])
                if tolerance == 0 or abs(delta) >= cost[i] / 1000:
                    c[i, k] += delta
                    w[:, k] += delta * x[i]
        if worst < max(tolerance, 1e-13):
            break
    return c, w


def error(m, own):
    """e = sigmoid(-(m + own e)), by halving"""
    low, high = 0.0, 1.0
    for _ in range(60):
        e = (low + high) / 2
        low, high = (low, e) if e > 1 / (1 + math.exp(min(m + own * e, 500))) else (e, high)
    return e


def problem(documents, n_classes, counts, terms, bayes, C, tau):
    x, s = features(documents, counts, terms), signs(documents, n_classes)
    return x, s, C * np.array([d[1] for d in documents], float), tau * offsets(bayes)


def corrected(p, C, tau):
    c, w = optimum(*p)
    ascended, _ = passes(*p, 0, most=5000, tolerance=0, competes=0.0)
    assert abs(ascended - c).max() < 1e-8, abs(ascended - c).max()

    def by_passes(**options):
        found = [objective(*p, passes(*p, seed, **options)[1]) for seed in range(10)]
        return [float(f(found)) for f in (np.mean, np.min, np.max)]

    return {
        "C": C,
        "tau": tau,
        "coefficients": c,
        "biases": w[-1].tolist(),
        "objective": objective(*p, w),
        "objective_of_ten_passes": by_passes(),
        "objective_of_all_passes": by_passes(most=1000, tolerance=0),
    }


# ---- the whole recipe ---------------------------------------------------------------------------------------------------
def bayes_fitted(documents, n_classes, counts, alpha, power):
    s = np.array(list(left_out_of_all(documents, n_classes, alpha, power)))
    part = [s, np.tile(counts.prior(), (len(s), 1))]
    here = [d for d in documents if d[2]]
    k = fit(part, here, n_classes, constants("k", n_classes))
    return s, k, log_loss(counts.bayes(s, k), here)


def left_out_of_all(documents, n_classes, alpha, power):
    """leave-one-out scores of the documents that have terms"""
    return (s for s, d in zip(left_out(documents, n_classes, alpha, power), documents) if d[2])


def worked_out(name, documents, n_classes):
    terms = {t: i for i, t in enumerate(sorted({t for _, _, counted in documents for t in counted}))}
    here = [i for i, d in enumerate(documents) if d[2]]
    learned, counts = [documents[i] for i in here], Counts(documents, n_classes)
    grid = [(bayes_fitted(documents, n_classes, counts, a, g)[2], a, g) for a in ALPHAS for g in POWERS]
    _, alpha, power = min(grid)
    s, k, _ = bayes_fitted(documents, n_classes, counts, alpha, power)
    o = offsets(counts.bayes(s, k))
    assert abs(o).max() < 15, "clipped"
    corrections = [
        corrected(problem(learned, n_classes, counts, terms, counts.bayes(s, k), C, tau), C, tau)
        for C, tau in CORRECTIONS
    ]

    fold = [i % FOLDS for i in range(len(documents))]
    B, d = held_out(documents, n_classes, terms, fold, alpha, power, k)
    parts = [B, d] + ([np.ones_like(B)] if n_classes == 2 else [])
    q = fit(parts, learned, n_classes, constants("q", n_classes))
    if q[1] < 0:  # a weight is never negative: the counts alone
        center = constants("q", n_classes)
        alone = fit(parts[:1] + parts[2:], learned, n_classes, np.delete(center, 1))
        q = np.insert(alone, 1, 0.0)
    z = sum(a * p for a, p in zip(q, parts))

    def rows(of_learned):
        by_document = dict(zip(here, np.asarray(of_learned).tolist()))
        return [by_document.get(i) for i in range(len(documents))]

    def left_out_by(alpha, power):
        return {"alpha": alpha, "power": power, "scores": rows(list(left_out_of_all(documents, n_classes, alpha, power)))}

    for correction in corrections:
        correction["coefficients"] = rows(correction["coefficients"])
    return {
        "name": name,
        "n_classes": n_classes,
        "documents": [[of, copies, sorted(counted.items())] for of, copies, counted in documents],
        "grid": [[a, g, loss] for loss, a, g in grid],
        "left_out": [left_out_by(a, g) for a, g in [(alpha, power), *OTHERS]],
        "k": k.tolist(),
        "offsets": rows(o),
        "correction": corrections,
        "fold": fold,
        "held_out": {"B": rows(B), "d": rows(d), "log_loss": log_loss(z, learned)},
        "q": q.tolist(),
    }


def held_out(documents, n_classes, terms, fold, alpha, power, k):
    """step 3: B and d of each document by what the other folds say; alpha, power and k are kept"""
    B, d = {}, {}
    C, tau = CORRECTIONS[0]
    for f in range(FOLDS):
        rest = [doc for doc, of in zip(documents, fold) if of != f]
        learned, counts = [doc for doc in rest if doc[2]], Counts(rest, n_classes)
        s = np.array(list(left_out_of_all(rest, n_classes, alpha, power)))
        _, w = optimum(*problem(learned, n_classes, counts, terms, counts.bayes(s, k), C, tau))
        for i, doc in enumerate(documents):
            if fold[i] == f and doc[2]:
                B[i] = counts.bayes(counts.scores(doc[2], alpha, power), k)
                d[i] = features([doc], counts, terms)[0] @ w
    return np.array([B[i] for i in sorted(B)]), np.array([d[i] for i in sorted(d)])


# ---- the documents ------------------------------------------------------------------------------------------------------
def made_up(seed, n_documents, n_terms, n_classes, least, most):
    """words as frequent as words are, each so many times more so in one class, rare ones most; classes of different sizes"""
    random = np.random.default_rng(seed)
    frequency = 1 / (np.arange(n_terms) + 2)
    likes, boost = random.integers(0, n_classes, n_terms), np.linspace(least, most, n_terms)
    sizes = np.arange(n_classes, 2 * n_classes) ** 0.8
    documents = []
    for i in range(n_documents):
        of = i if i < n_classes else int(random.choice(n_classes, p=sizes / sizes.sum()))
        p = frequency * np.where(likes == of, boost, 1.0)
        words = random.choice(n_terms, size=3 + random.poisson(9), p=p / p.sum())
        terms, counts = np.unique(words, return_counts=True)
        documents.append((of, 1, dict(zip(terms.tolist(), counts.tolist()))))
    for at, copies in ((3, 2), (10, 7), (n_documents // 2, 3)):
        documents[at] = (documents[at][0], copies, documents[at][2])
    other = (documents[5][0] + 1) % n_classes
    documents[15] = (other, 1, dict(documents[5][2]))  # the same in another class, of the same fold
    documents[17] = (documents[17][0], 1, {})  # without terms
    documents[18] = (documents[18][0], 1, {0: 1})  # |v| is below 1
    documents[19] = (documents[19][0], 1, {**documents[19][2], 1: 70000})  # more than the table has
    documents[20] = (documents[20][0], 1, {n_terms: 2})  # nothing but a term of its own
    return documents


def shown(value, depth=2):
    """JSON with a row a line"""
    if depth and isinstance(value, dict):
        return "{\n" + ",\n".join(f"{json.dumps(key)}: {shown(v, depth)}" for key, v in value.items()) + "\n}"
    if depth and isinstance(value, list) and value and isinstance(value[0], (list, dict)):
        return "[\n" + ",\n".join(shown(v, depth - 1) for v in value) + "\n]"
    return json.dumps(value, separators=(",", ":"))


def main():
    sets = [
        worked_out("two", made_up(20261122, 130, 60, 2, 1.2, 5), 2),
        worked_out("five", made_up(20261123, 220, 80, 5, 1.5, 8), 5),
    ]
    for s in sets:
        chosen, loss = s["left_out"][0], s["held_out"]["log_loss"]
        print(s["name"], chosen["alpha"], chosen["power"], "k", s["k"], "q", s["q"], "held-out log loss", loss)
        for c in s["correction"]:
            print({name: figure for name, figure in c.items() if name not in ("coefficients", "biases")})
    pathlib.Path(__file__).with_name("recipe.json").write_text(shown(sets) + "\n")


if __name__ == "__main__":
    main()
