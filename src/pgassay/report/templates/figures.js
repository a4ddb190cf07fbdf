// Draws each figure as soon as its place has a width (behind a fold: when it is opened), and fits it to that.
// `specifications` (name to Vega-Lite) and `vegaEmbed` are there before. `ast`: Vega interprets its expressions instead of
// compiling them, so that a page may forbid eval. A place with `data-filled` is drawn by whoever fills it.
const WIDEST = 900, NARROWEST = 120;

for (const [name, specification] of Object.entries(specifications)) {
  const place = document.getElementById(name);
  if (place && !place.dataset.filled) draw(place, specification);
}

// `ready` is told the view when it is drawn for the first time.
function draw(place, specification, ready = () => {}) {
  let view = null, drawn = 0, busy = false;
  const fit = async () => {
    const room = Math.floor(place.clientWidth);
    if (busy || room === 0 || room === drawn) return;
    busy = true;
    if (!view) {
      view = (await vegaEmbed(place, specification, { actions: false, renderer: "svg", ast: true })).view;
      named(place, specification);
      await ready(view);
    }
    await widen(view, place, room);
    [drawn, busy] = [room, false];
    if (Math.floor(place.clientWidth) !== room) fit();
  };
  const watched = new ResizeObserver(() => requestAnimationFrame(fit));  // what it resizes is told of in the next frame
  watched.observe(place);
  return watched;
}

// To a screen reader a figure is one picture with its title: its numbers are in the CSV beside it, not in hundreds of marks.
function named(place, specification) {
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", specification.description);
  place.removeAttribute("aria-roledescription");
  place.querySelector("svg").setAttribute("aria-hidden", "true");
}

// A panel is as wide as the place without axes and labels; these may change with the width, so a second time.
async function widen(view, place, room) {
  const signals = view.getState({ signals: (name) => /(^|_)(w|childW|child_w)idth$/.test(name), data: () => false }).signals;
  const panels = Object.keys(signals).filter((name) => Number.isFinite(signals[name]));
  const panel = panels.find((name) => name !== "width") ?? "width";
  for (let turn = 0; turn < 2; turn++) {
    const beside = place.querySelector("svg").width.baseVal.value - view.signal(panel);
    const width = Math.max(NARROWEST, Math.min(WIDEST, room - beside));
    for (const name of panels) if (name !== "width" || panel === "width") view.signal(name, width);
    await view.resize().runAsync();
  }
}
