/* What charts of measurements share: lines that differ by colour, dash and marker, their legend, intervals, round values. */
(function (page) {
  "use strict";

  const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
  const MARKERS = ["circle", "square", "triangle", "diamond", "down", "cross"];

  const colour = (line) => page.sweepColours[line % page.sweepColours.length];
  const dash = (line) => DASHES[Math.floor(line / 8) % DASHES.length];
  const marker = (line) => MARKERS[line % MARKERS.length];

  function readColours() {
    const text = getComputedStyle(document.documentElement).getPropertyValue("--lines");
    page.sweepColours = text.split(",").map((part) => part.trim());
  }

  const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

  /** The bar above a chart: a legend that singles lines out, and a button. `looks` are the lines' colours and markers. */
  function controls(group, labels, words, press, looks = labels.map((_, line) => line)) {
    readColours();
    const bar = document.createElement("div"), legend = document.createElement("ul"), button = document.createElement("button");
    bar.className = "controls";
    legend.className = "legend";
    labels.forEach((label, line) => legend.append(entry(group, label, line, looks[line])));
    button.type = "button";
    button.textContent = words;
    button.onclick = press;
    bar.append(legend, button);
    return bar;
  }

  /** A line of the legend; pressed, it alone is strong. */
  function entry(group, label, line, look) {
    const item = document.createElement("li"), button = document.createElement("button"), canvas = document.createElement("canvas");
    const ratio = window.devicePixelRatio || 1;
    canvas.width = 30 * ratio;
    canvas.height = 14 * ratio;
    canvas.style.width = "30px";
    canvas.style.height = "14px";
    const context = canvas.getContext("2d");
    strokeLine(context, [[1 * ratio, 7 * ratio], [29 * ratio, 7 * ratio]], look, ratio, 1);
    drawMarker(context, 15 * ratio, 7 * ratio, look, 4 * ratio, ratio);
    button.type = "button";
    button.append(canvas, label);
    button.setAttribute("aria-pressed", String(group.state.line === line));
    button.onclick = () => {
      group.state.line = group.state.line === line ? -1 : line;
      for (const [at, other] of [...item.parentElement.children].entries()) other.firstChild.setAttribute("aria-pressed", String(at === group.state.line));
      for (const plot of group.plots) plot.redraw(false);
    };
    item.append(button);
    return item;
  }

  const pressed = (group) => Boolean(group.host.querySelector('.legend [aria-pressed="true"]'));

  /** 1, 2 and 5 of each power of ten; where they would crowd, the powers alone, or every second of them. */
  function roundValues(u, low, high) {
    const room = u.bbox.height / uPlot.pxRatio / 24, from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
    const found = (leads, step) => {
      const values = [];
      for (let power = from; power <= to; power += step) for (const lead of leads) values.push(lead * Math.pow(10, power));
      return values.filter((value) => value >= low && value <= high);
    };
    return [found([1, 2, 5], 1), found([1], 1)].find((values) => values.length <= room && values.length > 1) || found([1, 2, 5], 1).filter((_, at, all) => at % Math.ceil(all.length / room) === 0);
  }

  /** Runs of neighbours that were measured: nothing is drawn over what is missing. */
  function parts(places) {
    const found = [[]];
    for (const place of places) place ? found[found.length - 1].push(place) : found.push([]);
    return found.filter((part) => part.length > 1);
  }

  function strokeLine(context, part, line, ratio, width) {
    context.save();
    context.strokeStyle = colour(line);
    context.lineWidth = width * ratio;
    context.lineJoin = "round";
    context.setLineDash(dash(line).map((length) => length * ratio));
    context.beginPath();
    part.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    context.restore();
  }

  /** Intervals: bars, inside the plot; an upper end that is not known is the value itself. */
  function drawBars(u, x, low, high, line, values = high) {
    const context = u.ctx, { top, height } = u.bbox, foot = top + height;
    const place = (value) => (value > 0 || u.scales.y.distr !== 3 ? u.valToPos(value, "y", true) : Infinity);
    context.strokeStyle = colour(line);
    context.lineWidth = 1.2 * uPlot.pxRatio;
    for (let at = 0; at < x.length; at++) {
      const isOpen = !known(high[at]), end = isOpen ? values[at] : high[at];
      if (!known(low[at]) || !known(end)) continue;
      const middle = u.valToPos(x[at], "x", true), upper = place(end), lower = place(low[at]);
      if (lower < top || upper > foot) continue;
      context.beginPath();
      context.moveTo(middle, Math.max(upper, top));
      context.lineTo(middle, Math.min(lower, foot));
      for (const y of isOpen ? [lower] : [upper, lower]) drawEnd(context, middle, y, Math.min(Math.max(y, top), foot));
      context.stroke();
    }
  }

  /** The end of an interval: a cap; where the plot's `edge` is before it, an arrow, since a cap would tell a false value. */
  function drawEnd(context, x, y, edge) {
    const ratio = uPlot.pxRatio, wide = 4 * ratio, back = Math.abs(y - edge) < ratio / 2 ? 0 : y < edge ? 5 * ratio : -5 * ratio;
    context.moveTo(x - wide, edge + back);
    if (back) context.lineTo(x, edge);
    context.lineTo(x + wide, edge + back);
  }

  /** Filled; hollow where the figures do not mean what they say. */
  function drawMarker(context, x, y, line, radius, ratio, hollow, kind = marker(line)) {
    context.save();
    context.fillStyle = context.strokeStyle = colour(line);
    context.lineWidth = 1.8 * ratio;
    context.beginPath();
    if (kind === "circle") context.arc(x, y, radius, 0, 7);
    else if (kind === "square") context.rect(x - radius * 0.88, y - radius * 0.88, radius * 1.76, radius * 1.76);
    else if (kind === "cross") { context.moveTo(x - radius, y - radius); context.lineTo(x + radius, y + radius); context.moveTo(x + radius, y - radius); context.lineTo(x - radius, y + radius); }
    else {
      const corners = { triangle: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]], down: [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]], diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]] }[kind];
      corners.forEach(([dx, dy], at) => (at ? context.lineTo(x + dx * radius, y + dy * radius) : context.moveTo(x + dx * radius, y + dy * radius)));
      context.closePath();
    }
    if (hollow) context.fillStyle = page.theme.surface;
    if (hollow && kind === "cross") context.setLineDash([1.5 * ratio, 1.5 * ratio]);
    if (kind !== "cross") context.fill();
    if (hollow || kind === "cross") context.stroke();
    context.restore();
  }

  page.marks = { colour, controls, drawBars, drawMarker, known, parts, pressed, roundValues, strokeLine };
})((window.storscope = window.storscope || {}));
