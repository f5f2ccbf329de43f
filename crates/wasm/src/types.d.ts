/** A row of a table: every column that the model uses. null, undefined and NaN are missing values. */
export type Row = Record<string, string | number | boolean | null | undefined>;

/** A raw message, a text (bytes are UTF-8), or a row of a table, whichever the model is for. */
export type Document = string | Uint8Array | ArrayBuffer | Row;

/** The settings of a filter. */
export interface Options {
    /** Answer "unsure" below this probability: at least 0 and below 1. By default, the model decides. */
    unsure?: number;
    /** The label that counts as spam. By default, the one whose name says so. */
    spamLabel?: string;
}

/** What is beside a document. */
export interface Beside {
    /** Its dense vector, for a model that was trained with vectors; finite numbers, as many as the model has. */
    vector?: Float32Array;
}

/** The score of one document. */
export interface Score {
    /** The verdict: a label of the model, or "unsure". In a model of many labels, the likeliest that the document has. */
    label: string;
    /** The labels that the document has, the likeliest first: in a model of many labels any number, otherwise the verdict. */
    labels: string[];
    /** The probability of spam in a spam filter, else of the likeliest label; between 0 and 1. */
    probability: number;
    /** The same probability as log-odds, in nats. */
    logOdds: number;
    /** The probability of every label. Those of many labels need not sum to 1. */
    probabilities: Record<string, number>;
    /** Whether the verdict is spam; false if it is unsure. */
    isSpam: boolean;
    /** Whether there is no verdict. */
    isUnsure: boolean;
    /** Number of different terms of the document that the model knows. */
    knownTerms: number;
    /** Whether a limit truncated the document. */
    truncated: boolean;
}

/**
 * Why a document got its score: what each of its terms adds to the log-odds. `intercept` and the contributions of all
 * terms add up to the log-odds of `label` against `against`.
 */
export interface Explanation {
    /** The score that is explained. */
    score: Score;
    /** The label that is explained: spam in a spam filter, else the likeliest. */
    label: string;
    /** The label it is compared with: the likeliest of the others; itself in a model of many labels. */
    against: string;
    /** The log-odds before any term, in nats. */
    intercept: number;
    /** The known terms, by decreasing absolute contribution. */
    terms: Term[];
    /** Number of occurrences of unknown terms; they add nothing. */
    unknown: number;
    /** The part of the document that decides, or that makes the filter unsure; undefined if it is the whole. */
    part?: string;
}

/** What a term adds to a score. */
export interface Term {
    /** The term, with the field it was found in: "subject:pills". */
    term: string;
    /** Its occurrences in the document. */
    count: number;
    /** Number of learned documents with the term, by label. */
    documents: Record<string, number>;
    /** What it adds to the log-odds, in nats. */
    contribution: number;
}
