/** What this person may do; the server decides, the page only hides what would be refused. */
export const mayWrite = () => document.documentElement.dataset.role !== "reader";
