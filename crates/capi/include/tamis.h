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
 * A model that is open. Threads may share it.
 */
typedef struct TamisFilter TamisFilter;

/**
 * A score. Its texts belong to the filter and are there until it is freed.
 */
typedef struct TamisScore {
  /**
   * The verdict: a label of the model, or "unsure".
   */
  const char *label;
  /**
   * The label that probability and log_odds are of: that of spam in a spam filter, else the likeliest.
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
   * Different terms of the document that the model knows.
   */
  uint64_t known_terms;
  /**
   * Whether the verdict is the label that counts as spam.
   */
  bool is_spam;
  /**
   * Whether there is no verdict: label is "unsure".
   */
  bool is_unsure;
} TamisScore;

/**
 * What a term added to a score.
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
   * How often it is in the document.
   */
  uint32_t count;
} TamisTerm;

/**
 * Why a document got its score. All that it points to is there until tamis_explanation_free.
 */
typedef struct TamisExplanation {
  /**
   * The score.
   */
  struct TamisScore score;
  /**
   * The label that the log-odds below are of.
   */
  const char *label;
  /**
   * The label that it is compared with.
   */
  const char *against;
  /**
   * Log-odds before any term, in nats. With all contributions it adds up to the log-odds of the one label
   * against the other.
   */
  double intercept;
  /**
   * How many words the model does not know.
   */
  uint64_t unknown;
  /**
   * How many terms follow.
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
 * Why the last call that failed on this thread failed: text in UTF-8, empty if none did. It is there until the next
 * call of this thread that fails.
 */
const char *tamis_last_error(void);

/**
 * Opens a model file, mapping it. Returns NULL on failure; else free it with tamis_free.
 *
 * If other programs write to the file in place (cp new model), read it yourself and use tamis_open_bytes: a mapped file
 * that becomes shorter ends the process by SIGBUS. Programs of tamis never do that.
 */
struct TamisFilter *tamis_open(const char *path);

/**
 * Opens a model from the bytes of its file, which are copied. Returns NULL on failure; else free it with tamis_free.
 * Such a model cannot learn.
 */
struct TamisFilter *tamis_open_bytes(const uint8_t *model,
                                     size_t length);

/**
 * Frees a model; nothing if it is NULL. No other call may be using it, and none may later.
 */
void tamis_free(struct TamisFilter *filter);

/**
 * Opens the file again if it was changed since. Returns 1 if it was, 0 if not (always for a model of bytes), -1 on
 * failure: the model is then what it was.
 */
int32_t tamis_reload(const struct TamisFilter *filter);

/**
 * Scores a message as it came (RFC 5322). Returns 0, or -1 on failure.
 */
int32_t tamis_score_mail(const struct TamisFilter *filter,
                         const uint8_t *message,
                         size_t length,
                         struct TamisScore *score);

/**
 * Scores text: UTF-8, or else windows-1252. Returns 0, or -1 on failure.
 */
int32_t tamis_score_text(const struct TamisFilter *filter,
                         const uint8_t *text,
                         size_t length,
                         struct TamisScore *score);

/**
 * Explains the score of a message. Returns NULL on failure; else free it with tamis_explanation_free.
 */
struct TamisExplanation *tamis_explain_mail(const struct TamisFilter *filter,
                                            const uint8_t *message,
                                            size_t length);

/**
 * Explains the score of text. Returns NULL on failure; else free it with tamis_explanation_free.
 */
struct TamisExplanation *tamis_explain_text(const struct TamisFilter *filter,
                                            const uint8_t *text,
                                            size_t length);

/**
 * Frees an explanation; nothing if it is NULL.
 */
void tamis_explanation_free(struct TamisExplanation *explanation);

/**
 * Learns a message under a label of the model; one that is known under another label moves. What was learned is on the
 * disk when this returns, and this handle knows it. A model that learned much one by one is fitted anew. Waits up to a
 * minute while another process changes the file.
 * Returns 1 if it was new or moved, 0 if it was known already, -1 on failure: nothing is learned then.
 */
int32_t tamis_learn_mail(const struct TamisFilter *filter,
                         const char *label,
                         const uint8_t *message,
                         size_t length);

/**
 * As tamis_learn_mail, for text.
 */
int32_t tamis_learn_text(const struct TamisFilter *filter,
                         const char *label,
                         const uint8_t *text,
                         size_t length);

/**
 * Forgets a message: exactly what learning it added. With a label, only if it is known under that label; NULL is any.
 * Returns 1 if it was forgotten, 0 if it was not known, -1 on failure. Waits as tamis_learn_mail.
 */
int32_t tamis_forget_mail(const struct TamisFilter *filter,
                          const char *label,
                          const uint8_t *message,
                          size_t length);

/**
 * As tamis_forget_mail, for text.
 */
int32_t tamis_forget_text(const struct TamisFilter *filter,
                          const char *label,
                          const uint8_t *text,
                          size_t length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TAMIS_H */
