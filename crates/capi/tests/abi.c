/* The ABI of the C library as of 0.1, pinned: a change that breaks programs which were linked before does not compile.
 * What is added goes below; what is here changes only with the number after libtamis.so. (crates/capi/build.rs). */
#include <tamis.h>

#define IS(what) _Static_assert(what, #what)
#define AT(type, field, place) IS(offsetof(type, field) == (place))

const char *(*const version)(void) = tamis_version;
const char *(*const last_error)(void) = tamis_last_error;
TamisFilter *(*const open_file)(const char *) = tamis_open;
TamisFilter *(*const open_bytes)(const uint8_t *, size_t) = tamis_open_bytes;
void (*const free_filter)(TamisFilter *) = tamis_free;
int32_t (*const reload)(const TamisFilter *) = tamis_reload;
int32_t (*const score_mail)(const TamisFilter *, const uint8_t *, size_t, TamisScore *) = tamis_score_mail;
int32_t (*const score_text)(const TamisFilter *, const uint8_t *, size_t, TamisScore *) = tamis_score_text;
TamisExplanation *(*const explain_mail)(const TamisFilter *, const uint8_t *, size_t) = tamis_explain_mail;
TamisExplanation *(*const explain_text)(const TamisFilter *, const uint8_t *, size_t) = tamis_explain_text;
void (*const free_explanation)(TamisExplanation *) = tamis_explanation_free;
int32_t (*const learn_mail)(const TamisFilter *, const char *, const uint8_t *, size_t) = tamis_learn_mail;
int32_t (*const learn_text)(const TamisFilter *, const char *, const uint8_t *, size_t) = tamis_learn_text;
int32_t (*const forget_mail)(const TamisFilter *, const char *, const uint8_t *, size_t) = tamis_forget_mail;
int32_t (*const forget_text)(const TamisFilter *, const char *, const uint8_t *, size_t) = tamis_forget_text;
int32_t (*const score)(const TamisFilter *, const TamisDocument *, TamisScore *) = tamis_score;
TamisExplanation *(*const explain)(const TamisFilter *, const TamisDocument *) = tamis_explain;
int32_t (*const learn)(const TamisFilter *, const char *, const TamisDocument *) = tamis_learn;
int32_t (*const forget)(const TamisFilter *, const char *, const TamisDocument *) = tamis_forget;

#if __SIZEOF_POINTER__ == 8
AT(TamisScore, label, 0);
AT(TamisScore, scored_label, 8);
AT(TamisScore, probability, 16);
AT(TamisScore, log_odds, 24);
AT(TamisScore, known_terms, 32);
AT(TamisScore, is_spam, 40);
AT(TamisScore, is_unsure, 41);
IS(sizeof(TamisScore) == 48);
AT(TamisTerm, term, 0);
AT(TamisTerm, contribution, 8);
AT(TamisTerm, count, 16);
IS(sizeof(TamisTerm) == 24);
AT(TamisExplanation, score, 0);
AT(TamisExplanation, label, 48);
AT(TamisExplanation, against, 56);
AT(TamisExplanation, intercept, 64);
AT(TamisExplanation, unknown, 72);
AT(TamisExplanation, part, 80);
AT(TamisExplanation, n_terms, 88);
AT(TamisExplanation, terms, 96);
IS(sizeof(TamisExplanation) == 104);
AT(TamisDocument, bytes, 0);
AT(TamisDocument, length, 8);
AT(TamisDocument, is_mail, 16);
AT(TamisDocument, vector, 24);
AT(TamisDocument, n_vector, 32);
IS(sizeof(TamisDocument) == 40);
#endif
