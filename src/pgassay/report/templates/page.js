// Folds, links into folds, tables that sort. Figures: figures.js. Without it the page can be read.

const every = (selector, root = document) => [...root.querySelectorAll(selector)];

// --- folds ---

function unfold() {
  const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!place) return;
  for (let fold = place.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  place.scrollIntoView();
}

function button(text, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

const folds = every("details");
document.getElementById("folds").append(
  button("Open all", () => folds.forEach((fold) => { fold.open = true; })),
  button("Close all", () => folds.forEach((fold) => { fold.open = false; })),
);
addEventListener("hashchange", unfold);

// --- tables ---

const UNITS = { B: 1, bytes: 1, kB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

/** A cell as what it is sorted by: its number in the unit that follows, or its text; what is missing comes last. */
function value(cell) {
  const text = cell.textContent.trim();
  if (text === "–" || text === "") return null;
  const number = /^([-+−×±]?)([\d.,]*\d)\s*([A-Za-zµ]*)/.exec(text);
  if (!cell.classList.contains("n") || !number) return text;
  const size = Number(number[2].replaceAll(",", "")) * (UNITS[number[3]] ?? 1);
  return number[1] === "-" || number[1] === "−" ? -size : size;
}

function sort(table, column, head) {
  const down = head.getAttribute("aria-sort") === "ascending";
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [value(row.cells[Math.min(column, row.cells.length - 1)]), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return down ? -order : order;
  });
  every("th", table).forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows.map(([, row]) => row));
}

for (const table of every("table.sorts")) {
  every("thead th", table).forEach((head) => {
    const column = [...head.parentElement.cells].indexOf(head);
    const name = button("", () => sort(table, column, head));
    name.append(...head.childNodes);
    head.append(name);
  });
}

unfold();
