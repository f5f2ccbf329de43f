/* tamis: a filter for mail and text that learns.
 *
 * Open a model, which the program tamis has trained, and score messages with it:
 *
 *     TamisFilter *filter = tamis_open("model.tamis");
 *     TamisScore score;
 *     if (filter == NULL || tamis_score_mail(filter, message, length, &score) != 0)
 *         fprintf(stderr, "%s\n", tamis_last_error());
 *     else
 *         printf("%s %.4f\n", score.label, score.probability);
 *     tamis_free(filter);
 *
 * Failure. A function that returns a pointer returns NULL, one that returns a number -1, and
 * tamis_last_error says why. Nothing prints, exits or throws. A fault within the library is a failure
 * too; Rust then writes a line to standard error.
 *
 * Pointers. NULL is a failure, not a crash, unless it is allowed: for bytes of length 0, for the label
 * of tamis_forget_*, and for what is freed. Any other pointer must be of what its type says: a filter
 * that is open, text that ends with a zero byte, so many bytes, room for the result. Bytes and texts
 * are only read, and not kept.
 *
 * Threads. Any thread may call any function at any time, also on a filter that others use; only
 * tamis_free must be the last call on it. Scoring does not wait for scoring. After fork, a child uses
 * only what it opens itself.
 *
 * Structures and functions stay as they are for as long as the number after libtamis.so. does.
 */


#ifndef TAMIS_H
#define TAMIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * An open model. Threads may share it.
 */
typedef struct TamisFilter TamisFilter;

/**
 * A document, perhaps with a dense vector beside it, for a model that was trained with vectors.
 */
typedef struct TamisDocument {
  /**
   * A raw message (RFC 5322), or text as tamis_score_text takes it; may be NULL if length is 0.
   */
  const uint8_t *bytes;
  /**
   * Their number.
   */
  size_t length;
  /**
   * Whether they are a message.
   */
  bool is_mail;
  /**
   * Finite numbers of at most 1,024 in magnitude, as many as the model's vectors have. NULL if there is no vector: its
   * words alone are then scored.
   */
  const float *vector;
  /**
   * Their number; 0 if there is no vector.
   */
  size_t n_vector;
} TamisDocument;

/**
 * A score. Its texts belong to the filter and live until it is freed.
 */
typedef struct TamisScore {
  /**
   * The verdict: a label of the model, or "unsure".
   */
  const char *label;
  /**
   * The label that probability and log_odds belong to: spam in a spam filter, else the likeliest label.
   */
  const char *scored_label;
  /**
   * Posterior probability of that label, from 0 to 1.
   */
  double probability;
  /**
   * Log-odds of that label against all others, in nats.
   */
  double log_odds;
  /**
   * Number of distinct terms of the document that the model knows.
   */
  uint64_t known_terms;
  /**
   * Whether the verdict is the label that counts as spam.
   */
  bool is_spam;
  /**
   * Whether the model is unsure: label is then "unsure".
   */
  bool is_unsure;
} TamisScore;

/**
 * A term, and what it added to a score.
 */
typedef struct TamisTerm {
  /**
   * The term, in UTF-8, with the field that it was found in.
   */
  const char *term;
  /**
   * What it adds to the log-odds, in nats.
   */
  double contribution;
  /**
   * Number of times it occurs in the document.
   */
  uint32_t count;
} TamisTerm;

/**
 * Why a document got its score. Everything that it points to lives until tamis_explanation_free.
 */
typedef struct TamisExplanation {
  /**
   * The score.
   */
  struct TamisScore score;
  /**
   * The label that the log-odds below belong to.
   */
  const char *label;
  /**
   * The label that it is compared with.
   */
  const char *against;
  /**
   * Log-odds before any term, in nats. Together with all contributions, the log-odds of label against the other
   * label.
   */
  double intercept;
  /**
   * Number of words that the model does not know.
   */
  uint64_t unknown;
  /**
   * The part of the document that decides, or that makes the filter unsure, such as "attachment notes.txt"; null if it is
   * the whole.
   */
  const char *part;
  /**
   * Number of terms that follow.
   */
  size_t n_terms;
  /**
   * The terms, the strongest first.
   */
  const struct TamisTerm *terms;
} TamisExplanation;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, such as "0.1.0".
 */
const char *tamis_version(void);

/**
 * Returns why the last failed call on this thread failed: text in UTF-8, empty if none failed. Valid until the next
 * call on this thread fails.
 */
const char *tamis_last_error(void);

/**
 * Opens a model file by mapping it. Returns NULL on failure. Free the model with tamis_free.
 *
 * If other programs write to the file in place (as cp does), read it yourself and use tamis_open_bytes: a mapped file
 * that shrinks ends the process with SIGBUS. The programs of tamis never write in place.
 */
struct TamisFilter *tamis_open(const char *path);

/**
 * Opens a model from the bytes of its file, which are copied. Returns NULL on failure. Free the model with tamis_free.
 * It cannot learn.
 */
struct TamisFilter *tamis_open_bytes(const uint8_t *model,
                                     size_t length);

/**
 * Frees a model. Does nothing if it is NULL. No other call may be using the model, or use it later.
 */
void tamis_free(struct TamisFilter *filter);

/**
 * Opens the model file again if it has changed. Returns 1 if it had, 0 if not (always for a model opened from bytes),
 * and -1 on failure, which leaves the model as it was.
 */
int32_t tamis_reload(const struct TamisFilter *filter);

/**
 * Scores a raw message (RFC 5322). Returns 0, or -1 on failure.
 */
int32_t tamis_score_mail(const struct TamisFilter *filter,
                         const uint8_t *message,
                         size_t length,
                         struct TamisScore *score);

/**
 * Scores text in UTF-8 or, if it is not valid UTF-8, in windows-1252; or a document's, given its bytes: DOCX, PPTX, XLSX,
 * ODT, ODP, ODS, EPUB, RTF. Returns 0, or -1 on failure, as for any other file.
 */
int32_t tamis_score_text(const struct TamisFilter *filter,
                         const uint8_t *text,
                         size_t length,
                         struct TamisScore *score);

/**
 * Explains the score of a message. Returns NULL on failure. Free the explanation with tamis_explanation_free.
 */
struct TamisExplanation *tamis_explain_mail(const struct TamisFilter *filter,
                                            const uint8_t *message,
                                            size_t length);

/**
 * Explains the score of a text. Returns NULL on failure. Free the explanation with tamis_explanation_free.
 */
struct TamisExplanation *tamis_explain_text(const struct TamisFilter *filter,
                                            const uint8_t *text,
                                            size_t length);

/**
 * Frees an explanation. Does nothing if it is NULL.
 */
void tamis_explanation_free(struct TamisExplanation *explanation);

/**
 * Learns a message under a label of the model. A message known under another label moves to this one. When this
 * returns, the change is on the disk and this handle uses it. Refits the model if it has learned much one message at a
 * time. While another process changes the file, waits up to a minute.
 * Returns 1 if the message was new or moved, 0 if it was already known, and -1 on failure; then nothing is learned.
 */
int32_t tamis_learn_mail(const struct TamisFilter *filter,
                         const char *label,
                         const uint8_t *message,
                         size_t length);

/**
 * Like tamis_learn_mail, for text.
 */
int32_t tamis_learn_text(const struct TamisFilter *filter,
                         const char *label,
                         const uint8_t *text,
                         size_t length);

/**
 * Forgets a message: removes exactly what learning it added. With a label, only if the message is known under it; with
 * NULL, under any. Returns 1 if it was forgotten, 0 if it was not known, and -1 on failure. Waits like
 * tamis_learn_mail.
 */
int32_t tamis_forget_mail(const struct TamisFilter *filter,
                          const char *label,
                          const uint8_t *message,
                          size_t length);

/**
 * Like tamis_forget_mail, for text.
 */
int32_t tamis_forget_text(const struct TamisFilter *filter,
                          const char *label,
                          const uint8_t *text,
                          size_t length);

/**
 * Scores a document that may have a vector. Returns 0, or -1 on failure.
 */
int32_t tamis_score(const struct TamisFilter *filter,
                    const struct TamisDocument *document,
                    struct TamisScore *score);

/**
 * Explains the score of a document that may have a vector, which is a term such as "vector of 384". Returns NULL on
 * failure. Free the explanation with tamis_explanation_free.
 */
struct TamisExplanation *tamis_explain(const struct TamisFilter *filter,
                                       const struct TamisDocument *document);

/**
 * Like tamis_learn_mail, for a document that may have a vector. The text identifies a document, or its vector if it has
 * no text.
 */
int32_t tamis_learn(const struct TamisFilter *filter,
                    const char *label,
                    const struct TamisDocument *document);

/**
 * Like tamis_forget_mail, for a document that may have a vector.
 */
int32_t tamis_forget(const struct TamisFilter *filter,
                     const char *label,
                     const struct TamisDocument *document);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TAMIS_H */
