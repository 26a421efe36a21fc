/** The user's rights. The server decides; the page only hides refused actions. */
export const mayWrite = () => document.documentElement.dataset.role !== "reader";
