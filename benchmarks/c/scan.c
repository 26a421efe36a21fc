/* The plain scan: in every round, look at every open arm. */
#include "hdoc.h"

/* The open arms in order, so that ties go to the lowest. The lines are kept beside them, one array a column. */
typedef struct {
    int64_t count, *arm;
    double *mean, *width;
} open_t;

static open_t open_new(int64_t arms) {
    size_t size = (size_t)arms;
    return (open_t){0, malloc(size * sizeof(int64_t)), malloc(size * sizeof(double)), malloc(size * sizeof(double))};
}

static void open_free(open_t *open) {
    free(open->arm);
    free(open->mean);
    free(open->width);
}

static inline void open_set(open_t *open, int64_t j, int64_t i, const arm_t *arm) {
    open->arm[j] = i;
    open->mean[j] = arm->mean;
    open->width[j] = arm->width;
}

static void open_remove(open_t *open, int64_t j) {
    open->count--;
    for (; j < open->count; j++) {
        open->arm[j] = open->arm[j + 1];
        open->mean[j] = open->mean[j + 1];
        open->width[j] = open->width[j + 1];
    }
}

/* The index as it is printed, mean + sqrt(2 sigma^2 log t / N), from the counts. */
static inline int64_t best_by_formula(const arm_t *arms, const open_t *open, double now, const bar_t *bar) {
    double scale = 2.0 * bar->sigma * bar->sigma * log(now);
    int64_t leader = 0;
    double best = -INFINITY;
    for (int64_t j = 0; j < open->count; j++) {
        const arm_t *arm = &arms[open->arm[j]];
        double index = arm->total / arm->pulls + sqrt(scale / arm->pulls);
        if (index > best) best = index, leader = j;
    }
    return leader;
}

/* The same from the kept lines: one multiplication and one addition an arm. */
static inline int64_t best_by_line(const arm_t *arms, const open_t *open, double now, const bar_t *bar) {
    (void)arms;
    double clock = clock_at(now, bar);
    int64_t leader = 0;
    double best = -INFINITY;
    for (int64_t j = 0; j < open->count; j++) {
        double index = open->mean[j] + clock * open->width[j];
        if (index > best) best = index, leader = j;
    }
    return leader;
}

typedef int64_t finder_t(const arm_t *, const open_t *, double, const bar_t *);

static inline int64_t play(const problem_t *p, const result_t *out, finder_t *find) {
    open_t open = open_new(p->arms);
    int64_t now = 0;
    for (; now < p->horizon && now < p->arms; now++)
        if (!pull(p, out, now, now + 1)) open_set(&open, open.count++, now, &out->arms[now]);
    while (now < p->horizon && open.count > 0) {
        now++;
        int64_t j = find(out->arms, &open, (double)now, &p->bar), i = open.arm[j];
        if (pull(p, out, i, now)) open_remove(&open, j);
        else open_set(&open, j, i, &out->arms[i]);
    }
    open_free(&open);
    return now;
}

int64_t scan_formula(const problem_t *p, const result_t *out) { return play(p, out, best_by_formula); }

int64_t scan_line(const problem_t *p, const result_t *out) { return play(p, out, best_by_line); }
