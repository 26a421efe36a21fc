/* The plain scan: in every round, look at every open arm. */
#include "hdoc.h"

/* The index as it is published, mean + sqrt(2 sigma^2 log t / N), from the counts. Not bit-identical to the others:
   the square root is taken of another number. */
static int64_t best_by_formula(const arm_t *arms, const int64_t *open, int64_t count, double now, const bar_t *bar) {
    double twice = 2.0 * bar->sigma * bar->sigma * log(now);
    int64_t leader = 0;
    double best = -INFINITY;
    for (int64_t j = 0; j < count; j++) {
        const arm_t *arm = &arms[open[j]];
        double index = arm->total / arm->pulls + sqrt(twice / arm->pulls);
        if (index > best) best = index, leader = j;
    }
    return leader;
}

/* The same from a kept mean and a kept 1/sqrt(N): one multiplication and one addition an arm. */
static int64_t best_by_line(const arm_t *arms, const int64_t *open, int64_t count, double now, const bar_t *bar) {
    double clock = clock_at(now, bar);
    int64_t leader = 0;
    double best = -INFINITY;
    for (int64_t j = 0; j < count; j++) {
        const arm_t *arm = &arms[open[j]];
        double index = arm->mean + clock * arm->width;
        if (index > best) best = index, leader = j;
    }
    return leader;
}

typedef int64_t finder_t(const arm_t *, const int64_t *, int64_t, double, const bar_t *);

static inline int64_t play(const problem_t *p, const result_t *out, finder_t *find) {
    int64_t *open = malloc((size_t)p->arms * sizeof *open); /* the open arms in order: ties go to the lowest */
    int64_t count = 0, now = 0;
    for (; now < p->horizon && now < p->arms; now++)
        if (!pull(p, out, now, now + 1)) open[count++] = now;
    while (now < p->horizon && count > 0) {
        now++;
        int64_t j = find(out->arms, open, count, (double)now, &p->bar);
        if (pull(p, out, open[j], now)) {
            count--;
            for (; j < count; j++) open[j] = open[j + 1];
        }
    }
    free(open);
    return now;
}

int64_t scan_formula(const problem_t *p, const result_t *out) { return play(p, out, best_by_formula); }

int64_t scan_line(const problem_t *p, const result_t *out) { return play(p, out, best_by_line); }
