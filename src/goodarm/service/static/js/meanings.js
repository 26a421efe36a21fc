/** What the page's words mean, in a sentence each. */
export const INTERVAL =
  "Where the true value lies, at the allowed error, however often you look. It decides as soon as it leaves the bar.";
export const ESTIMATE = {
  mean: "Mean of the rewards so far",
  difference: "The arm's mean less the mean of the control, in percentage points (pp) for shares",
};
export const EVIDENCE =
  "How strongly the rewards speak for a verdict, as a logarithm. The verdict falls when it reaches the line.";
export const UNDECIDED = "The bar still lies inside the interval: more samples are needed.";
export const WAITING = "A ticket is one sample that was handed out. It waits until its reward is told.";
export const ERROR = "The probability that any verdict of this campaign is wrong, however often you look.";
