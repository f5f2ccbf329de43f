/* Scores a message, says why, and corrects it:
 *
 *     cc score.c $(pkg-config --cflags --libs tamis) -o score
 *     ./score MODEL MESSAGE            score and explain
 *     ./score MODEL MESSAGE LABEL      learn it under a label, score it, and forget it again
 */
#include <stdio.h>
#include <stdlib.h>
#include <tamis.h>

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, tamis_last_error());
    return 3;
}

/* The bytes of a file; NULL if it cannot be read. */
static unsigned char *contents(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    unsigned char *bytes = NULL;
    size_t room = 0;
    *length = 0;
    for (;;) {
        if (*length == room) {
            room = room ? 2 * room : 65536;
            unsigned char *more = realloc(bytes, room);
            if (more == NULL) break;
            bytes = more;
        }
        size_t got = fread(bytes + *length, 1, room - *length, file);
        *length += got;
        if (got == 0) {
            fclose(file);
            return bytes;
        }
    }
    fclose(file);
    free(bytes);
    return NULL;
}

static int score(const TamisFilter *filter, const unsigned char *message, size_t length) {
    TamisScore score;
    if (tamis_score_mail(filter, message, length, &score) != 0) return failed("score");
    printf("%s: P(%s) = %.4f, log-odds %+.2f\n", score.label, score.scored_label, score.probability, score.log_odds);
    return 0;
}

static int explain(const TamisFilter *filter, const unsigned char *message, size_t length) {
    TamisExplanation *why = tamis_explain_mail(filter, message, length);
    if (why == NULL) return failed("explain");
    for (size_t i = 0; i < why->n_terms && i < 3; i++)
        printf("%+.3f %s\n", why->terms[i].contribution, why->terms[i].term);
    tamis_explanation_free(why);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s MODEL MESSAGE [LABEL]\n", argv[0]);
        return 3;
    }
    size_t length;
    unsigned char *message = contents(argv[2], &length);
    if (message == NULL) {
        perror(argv[2]);
        return 3;
    }
    TamisFilter *filter = tamis_open(argv[1]);
    if (filter == NULL) {
        free(message);
        return failed("open");
    }
    int status = score(filter, message, length);
    if (status == 0 && argc == 3) status = explain(filter, message, length);
    if (status == 0 && argc > 3) {
        int learned = tamis_learn_mail(filter, argv[3], message, length);
        if (learned < 0) status = failed("learn");
        else printf(learned ? "learned as %s\n" : "known as %s already\n", argv[3]);
        if (status == 0) status = score(filter, message, length);
        if (learned > 0 && tamis_forget_mail(filter, argv[3], message, length) < 0) status = failed("forget");
        if (status == 0) status = score(filter, message, length);
    }
    tamis_free(filter);
    free(message);
    return status;
}
