/**
 * What the API answers, as types for `tsc --checkJs`. Nothing here runs.
 *
 * @typedef {"good" | "bad" | "open"} Verdict
 *
 * @typedef {object} Summary
 * @property {string} name
 * @property {number} threshold
 * @property {number} delta
 * @property {string} criterion
 * @property {string} policy
 * @property {number} arms
 * @property {number} good
 * @property {number} bad
 * @property {number} open
 * @property {number} asked
 * @property {number} told
 * @property {number} pending
 * @property {boolean} ended
 * @property {string} created_at
 * @property {string} [changed_at]  when the journal's last entry was written
 * @property {number} number       the journal's last entry
 * @property {string} sentence
 * @property {number | null} remaining
 * @property {{low: number | null, high: number | null, guess?: string, near?: number, waiting?: number, waiting_samples?: number, half?: number | null, ninety?: number | null} | null} [finish]  how many more samples, as a range; arms too near to the bar; arms that look bad and wait; samples for a share of the arms
 * @property {number | null} [cases]    of a fixed test set
 * @property {number} [repeats]         of each case
 * @property {number | null} [stop_after]  good arms after which the campaign ends
 * @property {number | null} [budget]
 * @property {{per_unit: string, window: number | null} | null} [units]  how rows of a person become one reward
 * @property {number} [spent]
 * @property {string} [rewards]
 * @property {Question} question
 * @property {Bounds} [bounds]
 * @property {Record<string, number>} [tally]  how many arms and tickets are in each state
 * @property {Record<string, unknown> | null} [metadata]
 * @property {string | null} [created_by]
 *
 * @typedef {object} Bounds       of the policy, in standard errors
 * @property {number | null} alpha
 * @property {number | null} beta
 * @property {boolean} learned
 *
 * @typedef {object} Question     what is asked of each arm
 * @property {string} kind
 * @property {number} bar         what estimates are compared with
 * @property {string} good        the word for the verdict
 * @property {string} bad
 * @property {string} above       "better than now by 2 pp or more"
 * @property {string} below
 * @property {string} template    like above, with a mark in place of the amount
 * @property {string[]} references  arms that the others are compared with
 * @property {string[]} names      what people call them
 * @property {string} no_forecast  why the samples that are left can't be estimated
 * @property {boolean} shares     whether rewards are shares, written in percent
 * @property {{metric: string}[]} [bars]  several metrics, each with its bar
 * @property {{estimate: string, measured: string, bar: string, line: string, against: string, signed: boolean, good: string, bad: string}} labels
 *
 * @typedef {object} Row
 * @property {string} arm
 * @property {string | null} label
 * @property {Verdict} verdict
 * @property {string | null} guarantee
 * @property {number} pulls
 * @property {number} pending
 * @property {number | null} mean
 * @property {number | null} low
 * @property {number | null} high
 * @property {number | null} evidence
 * @property {number | null} needed
 * @property {string | null} decided_at
 * @property {number | null} own_mean  also where mean is a difference
 * @property {number} [cost]            of a sample
 * @property {Metric[]} [metrics]       with several bars
 * @property {string} [failed]          the metric that a bad verdict names
 * @property {string} [state]
 *
 * @typedef {object} Metric
 * @property {string} metric
 * @property {number} bar
 * @property {boolean} at_least
 * @property {number | null} mean
 * @property {number | null} low
 * @property {number | null} high
 * @property {number | null} evidence
 * @property {boolean} failed
 *
 * @typedef {object} Verdicts
 * @property {number} number
 * @property {number} good
 * @property {number} bad
 * @property {number} open
 * @property {string} sentence
 * @property {Row[]} arms
 *
 * @typedef {object} PathPoint
 * @property {number} pulls
 * @property {number} mean
 * @property {number | null} low
 * @property {number | null} high
 * @property {number | null} for_good
 * @property {number | null} for_bad
 *
 * @typedef {Row & {path: PathPoint[], audit: Record<string, unknown> | null, bounds: Bounds, metadata: unknown}} ArmDetail
 *
 * @typedef {object} ProgressPoint
 * @property {number} number
 * @property {string} at
 * @property {number} asked
 * @property {number} told
 * @property {number} good
 * @property {number} bad
 *
 * @typedef {object} Change
 * @property {number} number
 * @property {number} good
 * @property {number} bad
 * @property {number} open
 * @property {number} asked
 * @property {number} told
 * @property {number} pending
 * @property {string} sentence
 * @property {number | null} [remaining]
 * @property {boolean} [ended]
 * @property {Bounds} [bounds]
 * @property {Row[]} arms         the rows that changed
 *
 * @typedef {object} Plan
 * @property {string} sentence
 * @property {string} [guess]     what was assumed about the means
 * @property {number | null} half
 * @property {number | null} eighty
 * @property {number | null} ninety
 * @property {{median: number | null, high: number | null}} rounds
 *
 * @typedef {object} PendingTicket
 * @property {string} ticket
 * @property {string | null} arm  null for a block
 * @property {number} pulls
 * @property {string} asked_at
 * @property {number} seconds     how long it has been out
 * @property {boolean} overdue
 *
 * @typedef {{ticket: string, arm: string}} Ticket
 * @typedef {{id: string, label?: string}} NewArm
 * @typedef {{element: HTMLElement, close?: () => void}} View
 */
export {};
