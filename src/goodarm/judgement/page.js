// Filter the rows of a table by name and verdict.
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
