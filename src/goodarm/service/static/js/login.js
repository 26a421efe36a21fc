/** Log in with a token, which becomes a cookie that scripts can't read. */
import { post } from "./api.js";
import { h, say } from "./dom.js";

/** @param {() => Promise<void>} done @returns {import("./types.js").View} */
export function loginView(done) {
  const token = h("input", { id: "token", type: "password", autocomplete: "current-password", required: true });
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h(
    "form",
    {
      class: "card narrow",
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        try {
          await post("/login", { token: token.value });
          localStorage.setItem("goodarm-login", "1"); // only that there is a session, so that "Log out" is shown
          await done();
        } catch (error) {
          say(problem, error instanceof Error ? error.message : String(error));
        }
      },
    },
    h("h1", {}, "Log in"),
    h("label", { for: "token" }, "Token"),
    token,
    h(
      "p",
      { class: "hint" },
      "The administrator of this server creates one: ",
      h("code", {}, "goodarm token create --role reader"),
    ),
    problem,
    h("button", { class: "main", type: "submit" }, "Log in"),
  );
  queueMicrotask(() => token.focus());
  return { element: form };
}
