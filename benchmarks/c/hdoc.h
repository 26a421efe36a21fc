/* What the hand-written loops share: the problem, an arm, the reward stream, the verdict.

   hdoc+hoeffding on 0/1 rewards. The rewards are those of goodarm.streams, and every formula is evaluated in the order
   in which goodarm evaluates it, so that the arms pulled are the same ones. Compile with -ffp-contract=off. */
#ifndef HDOC_H
#define HDOC_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    double threshold, delta, arms, sigma;
} bar_t;

typedef struct {
    double pulls, total, mean, width;
} arm_t;

typedef struct {
    int64_t arms, horizon;
    const double *means;
    uint64_t run;
    bar_t bar;
} problem_t;

typedef struct {
    arm_t *arms;         /* zeroed by the caller */
    int64_t *decided_at; /* zeroed by the caller; 0 while open */
    int64_t *trace;      /* the arm of each round, or NULL */
} result_t;

static inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline double draw(const problem_t *p, int64_t arm, double pulls) {
    uint64_t key = mix(p->run + (uint64_t)arm * 0x9E3779B97F4A7C15u) + (uint64_t)(int64_t)pulls * 0xD1342543DE82EF95u;
    double uniform = (double)(int64_t)(mix(key) >> 11) * (1.0 / 9007199254740992.0);
    return uniform < p->means[arm] ? 1.0 : 0.0;
}

static inline double clock_at(double now, const bar_t *bar) { return bar->sigma * sqrt(2.0 * log(now)); }

static inline double radius(double n, const bar_t *bar) {
    return sqrt(2.0 * bar->sigma * bar->sigma * log(4.0 * bar->arms * n * n / bar->delta) / n);
}

/* Pull an arm: 1 if it is decided now, otherwise 0. */
static inline int pull(const problem_t *p, const result_t *out, int64_t i, int64_t now) {
    arm_t *arm = &out->arms[i];
    double total = arm->total + draw(p, i, arm->pulls);
    double n = arm->pulls + 1.0;
    arm->pulls = n;
    arm->total = total;
    arm->mean = total / n;
    arm->width = 1.0 / sqrt(n);
    if (out->trace) out->trace[now - 1] = i;
    double r = radius(n, &p->bar);
    if (arm->mean - r >= p->bar.threshold || arm->mean + r < p->bar.threshold) {
        out->decided_at[i] = now;
        return 1;
    }
    return 0;
}

#endif
