// The page of a run that goes on: fills its places with what the server's events say. Everything is set as text. In a block, since Vega's script beside it has names of its own.
{
  const at = (name) => document.getElementById(name);
  const KEPT_S = 180, ROWS_MAX = 6000;
  // Of the time of a core so much may go into drawing the seconds: the browser may share it with what is measured.
  const DRAWING_SHARE = 0.05;

  function row(cells) {
    const made = document.createElement("tr");
    for (const [text, kind, small] of cells) {
      const cell = document.createElement("td");
      cell.textContent = text;
      if (kind) cell.className = kind;
      if (small) {
        const more = document.createElement("span");
        more.className = "small";
        more.textContent = ` ${small}`;
        cell.append(more);
      }
      made.append(cell);
    }
    return made;
  }

  // --- progress ---

  let forest = null, drawn = "";

  function effects(figure) {
    const text = JSON.stringify(figure);
    if (text === drawn) return;
    drawn = text;
    forest?.disconnect();
    const place = at("effects");
    place.replaceChildren();
    place.hidden = text === "{}";
    forest = place.hidden ? null : draw(place, figure);
  }

  function progress(told) {
    at("state").textContent = told.state;
    at("doing").textContent = [told.doing, told.left].filter((each) => each).join("; ");
    at("note").textContent = told.note;
    at("answer").replaceChildren(...told.answer.sentences.map((each) => {
      const made = document.createElement("p");
      made.textContent = `${each}.`;
      return made;
    }));
    effects(told.answer.figure);
    at("stopping").hidden = !told.can_stop;
    at("stop").disabled = told.stop_asked;
    at("asked").textContent = told.stop_asked ? "asked: the run ends with this block" : "";
    at("blocks").textContent = told.blocks_max ? `at most ${told.blocks_max} blocks` : "";
    at("places").replaceChildren(...told.places.toReversed().map((each) =>
      row([[each.block], [each.number, "n"], [each.arm], [each.state, "", each.why]])));
    at("said").replaceChildren(...told.said.toReversed().map((each) => row([[each.at], [each.text]])));
  }

  // --- the trial that runs ---

  // What was shown stays until the next trials tell something: servers start and stop in between.
  let rows = [], view = null, over = false;

  function seconds({ fresh, rows: more }) {
    over ||= fresh;
    if (more.length === 0) return;
    if (over) rows = [];
    over = false;
    rows.push(...more);
    const last = Math.max(...more.map((each) => each.second));
    rows = rows.filter((each) => each.second >= last - KEPT_S).slice(-ROWS_MAX);
    at("nothing").hidden = true;
    const place = at("seconds");
    if (place.hidden) {
      place.hidden = false;
      const first = { ...specifications.seconds, datasets: { seconds: copies() } };  // Vega sizes no figure without rows
      draw(place, first, (made) => { view = made; return fill(); });
    }
    redraw();
  }

  const copies = () => rows.map((each) => ({ ...each }));

  async function fill() {
    if (view) await view.data("seconds", copies()).resize().runAsync();
  }

  // What came meanwhile is drawn together; a tab that nobody sees draws nothing until it is seen.
  let waiting = false, rested = 0;

  async function redraw() {
    if (waiting || document.hidden) return;
    waiting = true;
    await new Promise((go) => setTimeout(go, Math.max(0, rested - performance.now())));
    const began = performance.now();
    if (!document.hidden) await fill();
    rested = performance.now() + (performance.now() - began) * (1 / DRAWING_SHARE - 1);
    waiting = false;
  }

  document.addEventListener("visibilitychange", redraw);

  // --- the connection ---

  const source = new EventSource(`${location.pathname.replace(/live$/, "")}events`);
  const heard = (name, act) => source.addEventListener(name, (event) => {
    at("connection").textContent = "";
    act(JSON.parse(event.data));
  });
  heard("progress", progress);
  heard("seconds", seconds);
  heard("fault", (told) => { at("connection").textContent = told.text; });
  source.addEventListener("open", () => { at("connection").textContent = ""; });
  source.addEventListener("error", () => {
    if (["finished", "interrupted"].includes(at("state").textContent)) {
      source.close();
      at("connection").textContent = "The run has ended, and its server with it: pgassay serve RUN shows it again.";
      return;
    }
    at("connection").textContent = source.readyState === EventSource.CLOSED
      ? "The server has ended: open the address that the next one prints." : "The connection is lost; trying again.";
  });
}
