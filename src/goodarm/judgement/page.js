// Filter by name and verdict; a click on a heading sorts, a second one turns the order around. Empty cells stay last.
for (const tools of document.querySelectorAll(".tools")) {
  const rows = [...tools.nextElementSibling.querySelectorAll("tbody tr")];
  const words = tools.querySelector("input[type=search]"), boxes = [...tools.querySelectorAll("input[type=checkbox]")];
  const show = () => {
    const wanted = words.value.toLowerCase(), kinds = new Set(boxes.filter(box => box.checked).map(box => box.value));
    for (const row of rows) row.hidden = !kinds.has(row.dataset.verdict) || !row.dataset.name.includes(wanted);
    for (const row of rows) row.style.display = row.hidden ? "none" : "";
  };
  words.addEventListener("input", show);
  for (const box of boxes) box.addEventListener("change", show);
}
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement, body = heading.closest("table").tBodies[0], column = heading.cellIndex;
    const down = heading.getAttribute("aria-sort") !== "descending";
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
