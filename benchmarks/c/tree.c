/* The kinetic tree of goodarm/engine/kinetic_tree.py, same layout, same decisions. */
#include "hdoc.h"

#define HALF_ULP 0x1p-53
#define LATER (1.0 + 4.0 * HALF_ULP)
#define EARLIER (1.0 - 8.0 * HALF_ULP)

typedef struct {
    double mean, slope, due, arm;
} node_t;

static inline double smaller(double a, double b) { return a < b ? a : b; }

/* The first clock at which the rival may overtake. */
static inline double crossing(double mean, double slope, double rival_mean, double rival_slope, double clock, double last) {
    double lead = mean - rival_mean, closing = rival_slope - slope;
    if (rival_mean == -INFINITY || (lead == 0.0 && closing == 0.0)) return INFINITY;
    double margin = 8.0 * HALF_ULP * (fabs(mean) + fabs(rival_mean) + last * (fabs(slope) + fabs(rival_slope)));
    double soon = clock * LATER;
    if (closing > 0.0) {
        double met = (lead - margin) / closing * EARLIER;
        return met > soon ? met : soon;
    }
    return lead - clock * closing >= margin ? INFINITY : soon;
}

static inline void duel(node_t *tree, uint64_t node, double clock, double last) {
    const node_t *left = &tree[2 * node], *right = &tree[2 * node + 1];
    int swap = right->mean + clock * right->slope > left->mean + clock * left->slope;
    const node_t *winner = swap ? right : left, *loser = swap ? left : right;
    double due = crossing(winner->mean, winner->slope, loser->mean, loser->slope, clock, last);
    tree[node].mean = winner->mean;
    tree[node].slope = winner->slope;
    tree[node].due = smaller(due, smaller(left->due, right->due));
    tree[node].arm = winner->arm;
}

static inline void climb(node_t *tree, uint64_t node, double clock, double last) {
    for (; node >= 1; node >>= 1) duel(tree, node, clock, last);
}

static inline int64_t advance(node_t *tree, uint64_t leaves, double clock, double last) {
    while (tree[1].due <= clock) {
        uint64_t node = 1;
        while (2 * node < leaves) {
            if (tree[2 * node].due <= clock) node = 2 * node;
            else if (tree[2 * node + 1].due <= clock) node = 2 * node + 1;
            else break;
        }
        climb(tree, node, clock, last);
    }
    return (int64_t)tree[1].arm;
}

static inline void set_leaf(node_t *leaf, const arm_t *arm, int decided) {
    leaf->mean = decided ? -INFINITY : arm->mean;
    leaf->slope = decided ? 0.0 : arm->width;
}

int64_t kinetic_tree(const problem_t *p, const result_t *out) {
    uint64_t leaves = 2;
    while (leaves < (uint64_t)p->arms) leaves *= 2;
    node_t *tree = aligned_alloc(64, 2 * leaves * sizeof *tree);
    for (uint64_t j = 0; j < 2 * leaves; j++) tree[j] = (node_t){-INFINITY, 0.0, INFINITY, (double)j - (double)leaves};
    double last = clock_at((double)p->horizon, &p->bar);
    int64_t now = 0, open = p->arms;
    while (now < p->horizon && now < p->arms) {
        int64_t i = now++;
        int decided = pull(p, out, i, now);
        open -= decided;
        set_leaf(&tree[leaves + (uint64_t)i], &out->arms[i], decided);
    }
    double clock = clock_at((double)now, &p->bar);
    for (uint64_t node = leaves - 1; node >= 1; node--) duel(tree, node, clock, last);
    while (now < p->horizon && open > 0) {
        now++;
        clock = clock_at((double)now, &p->bar);
        int64_t i = advance(tree, leaves, clock, last);
        int decided = pull(p, out, i, now);
        open -= decided;
        uint64_t leaf = leaves + (uint64_t)i;
        set_leaf(&tree[leaf], &out->arms[i], decided);
        climb(tree, leaf >> 1, clock, last);
    }
    free(tree);
    return now;
}
