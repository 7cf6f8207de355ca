/* Classifies handwritten digits with the compiled classifier: classify X.npy Y.npy prints how many it names rightly. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"

enum { PIXELS = 64, CLASSES = 10 };

/* The data of a version 1 .npy file of `count` elements of `size` bytes. */
static void *read_npy(const char *path, size_t *count, size_t size) {
    unsigned char head[10];
    FILE *file = fopen(path, "rb");
    if (!file || fread(head, 1, sizeof head, file) != sizeof head || memcmp(head, "\x93NUMPY\x01", 7)) {
        fprintf(stderr, "%s is no .npy file of version 1\n", path);
        exit(1);
    }
    long from = (long)sizeof head + head[8] + 256 * head[9];
    fseek(file, 0, SEEK_END);
    *count = (size_t)(ftell(file) - from) / size;
    fseek(file, from, SEEK_SET);
    void *data = malloc(*count * size);
    if (!data || fread(data, size, *count, file) != *count) {
        fprintf(stderr, "%s ends early\n", path);
        exit(1);
    }
    fclose(file);
    return data;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s X.npy Y.npy\n", argv[0]);
        return 1;
    }
    size_t pixels, labels;
    float *x = read_npy(argv[1], &pixels, sizeof *x);
    int64_t *y = read_npy(argv[2], &labels, sizeof *y);
    int64_t rows = (int64_t)(pixels / PIXELS), right = 0, broken = 0;
    float *scores = malloc(sizeof *scores * (size_t)rows * CLASSES);
    int64_t size = digits_workspace_size(rows);
    void *workspace = aligned_alloc(64, (size_t)(size + 63) / 64 * 64);
    int status = digits(x, rows, scores, rows, workspace, size);
    if (status) {
        fprintf(stderr, "the classifier returned %d\n", status);
        return 1;
    }
    for (int64_t row = 0; row < rows && row < (int64_t)labels; row++) {
        const float *own = scores + row * CLASSES;
        int best = 0;
        for (int n = 0; n < CLASSES; n++) {
            best = own[n] > own[best] ? n : best;
            broken += isnan(own[n]);
        }
        right += best == y[row];
    }
    printf("%lld digits, %lld named rightly, %lld scores are NaN\n", (long long)rows, (long long)right, (long long)broken);
    return 0;
}
