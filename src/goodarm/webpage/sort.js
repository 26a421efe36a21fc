// A click on a heading sorts its table; a second click turns the order around. Empty cells stay last.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement, table = heading.closest("table"), body = table.tBodies[0];
    const column = heading.cellIndex, down = heading.getAttribute("aria-sort") !== "descending";
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => row.cells[column].dataset.value;
    const compare = (a, b) => {
      const x = key(a), y = key(b);
      if (x === "" || y === "") return (x === "") - (y === "");
      const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
      return down ? -order : order;
    };
    body.append(...[...body.rows].sort(compare));
  });
}
