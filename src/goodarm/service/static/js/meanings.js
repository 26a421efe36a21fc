/** One-sentence definitions of the page's terms. */
export const INTERVAL =
  "The true value lies here, at the allowed error, however often you look. An arm is decided when its interval excludes the bar.";
export const ESTIMATE = {
  mean: "Mean of the rewards so far",
  difference: "The arm's mean less the mean of the control, in percentage points (pp) for shares",
};
export const EVIDENCE =
  "The strength of the evidence for a verdict, as a logarithm. The arm is decided when it reaches the line.";
export const UNDECIDED = "The bar still lies inside the interval: more samples are needed.";
export const PENDING = "A ticket is a request for one sample. It is pending until its reward is told.";
export const ERROR = "The probability that any verdict of this campaign is wrong, however often you look.";
