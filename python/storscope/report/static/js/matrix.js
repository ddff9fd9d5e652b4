/* Heat maps on a canvas: columns of time, rows of latency buckets or of names. */
(function (page) {
  "use strict";

  const FOOT = 40, HEAD = 30, EDGE = 24; // room for the last time label

  page.matrix = function (host, chart, columns) {
    host.replaceChildren();
    const view = layout(host, chart, columns[chart.cells]);
    const canvas = document.createElement("canvas"), marker = document.createElement("div");
    const ratio = page.printing ? 2 : window.devicePixelRatio || 1;
    canvas.width = Math.round(view.width * ratio);
    canvas.height = Math.round(view.height * ratio);
    canvas.style.width = `${view.width}px`;
    canvas.style.height = `${view.height}px`;
    marker.className = "marker";
    marker.hidden = true;
    host.append(canvas, marker);
    page.image(canvas, "Heat map");
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = page.theme.font;
    drawAxes(context, view);
    drawCells(context, view);
    drawBad(context, view);
    drawLegend(context, view);
    pointer(host, canvas, marker, view);
  };

  function layout(host, chart, cells) {
    const width = page.widthOf(host), named = Boolean(chart.names);
    const gutter = named ? nameRoom(chart.names, Math.max(96, width * 0.25)) : 68;
    const row = named ? Math.max(chart.rows > 40 ? 4 : 13, Math.min(22, (chart.rows > 40 ? 600 : 420) / chart.rows)) : Math.max(6, Math.min(16, 300 / chart.rows));
    const known = cells.filter((value) => value > 0);
    const low = chart.low || known.reduce((a, b) => Math.min(a, b), Infinity), high = known.reduce((a, b) => Math.max(a, b), -Infinity);
    const { start, width: step, count } = chart.columns;
    return { chart, cells, width, gutter, row, low, high, named, step, count, from: start, to: start + step * count,
      plot: { left: gutter, top: HEAD, width: width - gutter - EDGE, height: row * chart.rows }, height: HEAD + row * chart.rows + FOOT };
  }

  function nameRoom(names, most) {
    const context = document.createElement("canvas").getContext("2d");
    context.font = page.theme.font;
    return Math.min(most, Math.max(...names.map((name) => context.measureText(name).width)) + 14);
  }

  const x = (view, time) => view.plot.left + ((time - view.from) / (view.to - view.from)) * view.plot.width;
  /** Latency buckets grow upward, names run downward. */
  const y = (view, row) => view.plot.top + view.row * (view.named ? row : view.chart.rows - 1 - row);

  function share(view, value) {
    if (view.high <= view.low) return 1;
    return Math.log(value / view.low) / Math.log(view.high / view.low);
  }

  function drawCells(context, view) {
    const wide = view.plot.width / view.count;
    for (let column = 0; column < view.count; column++) {
      let seen = false;
      const left = Math.floor(view.plot.left + column * wide), right = Math.floor(view.plot.left + (column + 1) * wide);
      for (let row = 0; row < view.chart.rows; row++) {
        const value = view.cells[row * view.count + column];
        seen = seen || value !== null;
        if (!(value > 0)) continue;
        context.fillStyle = `rgb(${page.heat(0.06 + 0.94 * share(view, value)).join(" ")})`;
        const top = y(view, row), gap = view.named && view.row >= 8 ? 1 : 0;
        context.fillRect(left, Math.round(top), Math.max(right - left, 1), Math.round(top + view.row) - Math.round(top) - gap);
      }
      if (!seen && !view.named) drawAbsent(context, left, view.plot.top, right - left, view.plot.height);
    }
  }

  function drawAbsent(context, left, top, width, height) {
    context.fillStyle = page.theme.line;
    context.globalAlpha = 0.5;
    context.fillRect(left, top, Math.max(width, 1), height);
    context.globalAlpha = 1;
  }

  function drawAxes(context, view) {
    const { plot } = view, { ticks, step } = page.timeTicks(view.from, view.to, plot.width);
    context.strokeStyle = page.theme.line;
    context.fillStyle = page.theme.quiet;
    context.textAlign = "center";
    context.textBaseline = "top";
    page.timeLabels(ticks, step).forEach((label, i) => {
      const at = x(view, ticks[i]);
      rule(context, at, plot.top, at, plot.top + plot.height + 4);
      label.split("\n").forEach((part, line) => {
        const half = context.measureText(part).width / 2; // a tick at the very end has its whole label all the same
        context.fillText(part, Math.min(Math.max(at, plot.left), view.width - half), plot.top + plot.height + 7 + 15 * line);
      });
    });
    context.textAlign = "right";
    context.textBaseline = "middle";
    (view.named ? nameLabels : edgeLabels)(context, view);
  }

  function rule(context, x0, y0, x1, y1) {
    context.beginPath();
    context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
    context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
    context.stroke();
  }

  function nameLabels(context, view) {
    context.fillStyle = page.theme.ink;
    const every = Math.ceil(12 / view.row); // names that would overlap are left out; pointing at a row still tells its name
    view.chart.names.forEach((name, row) => {
      if (row % every === 0) context.fillText(fitted(context, name, view.gutter - 10), view.plot.left - 8, y(view, row) + view.row / 2);
    });
  }

  function fitted(context, name, room) {
    if (context.measureText(name).width <= room) return name;
    let kept = name.length;
    while (kept > 1 && context.measureText(name.slice(0, kept) + "…").width > room) kept--;
    return name.slice(0, kept) + "…";
  }

  /** Round latencies (1, 2, 5 and powers of ten) where they fall between the bucket edges. */
  function edgeLabels(context, view) {
    const edges = view.chart.edges, low = edges[0], high = edges[edges.length - 1], { plot } = view;
    const place = (value) => plot.top + plot.height * (1 - Math.log(value / low) / Math.log(high / low));
    let last = Infinity;
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const digit of [1, 2, 5]) {
        const value = digit * 10 ** power, at = place(value);
        if (value < low * 0.999 || value > high * 1.001 || last - at < 24) continue;
        last = at;
        rule(context, plot.left - 4, at, plot.left + plot.width, at);
        context.fillText(page.ticks("latency", [value])[0], plot.left - 8, at);
      }
    }
  }

  function drawBad(context, view) {
    context.fillStyle = page.theme.bad;
    for (const [from, to] of view.chart.bad || []) {
      const left = Math.max(x(view, from), view.plot.left), right = Math.min(x(view, to), view.plot.left + view.plot.width);
      if (right >= left) context.fillRect(left, view.plot.top - 6, Math.max(right - left, 2), 4);
    }
  }

  function drawLegend(context, view) {
    if (!(view.high > 0)) return;
    const wide = Math.min(150, view.width * 0.3), right = view.width - EDGE;
    const rounded = Number(view.high.toPrecision(2)), unit = rounded === 1 ? view.chart.unit.replace(/s$/, "") : view.chart.unit;
    const [low, high] = page.ticks(view.chart.unit, [Number(view.low.toPrecision(2)), rounded]);
    const most = `${high}${unit === "latency" ? "" : ` ${unit}`}`;
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillStyle = page.theme.quiet;
    context.fillText(most, right, 9);
    const end = right - context.measureText(most).width - 7;
    if (view.high <= view.low) { // one value, one colour
      context.fillStyle = `rgb(${page.heat(1).join(" ")})`;
      context.fillRect(end - 16, 4, 16, 10);
      badLegend(context, view, end - 16);
      return;
    }
    for (let i = 0; i < wide; i++) {
      context.fillStyle = `rgb(${page.heat(0.06 + (0.94 * i) / wide).join(" ")})`;
      context.fillRect(end - wide + i, 4, 1.5, 10);
    }
    context.fillStyle = page.theme.quiet;
    context.fillText(low, end - wide - 7, 9);
    badLegend(context, view, end - wide - 7 - context.measureText(low).width);
  }

  /** What the bars above the cells mean, where there is room before the scale. */
  function badLegend(context, view, end) {
    if (!view.chart.bad || !view.chart.bad.length) return;
    if (end - view.plot.left < 22 + context.measureText("bad window").width + 12) return;
    context.textAlign = "left";
    context.fillStyle = page.theme.quiet;
    context.fillText("bad window", view.plot.left + 22, 9);
    context.fillStyle = page.theme.bad;
    context.fillRect(view.plot.left, 7, 16, 4);
  }

  function words(view, column, row) {
    const from = view.from + column * view.step, value = view.cells[row * view.count + column];
    const { edges, names, unit } = view.chart;
    const what = names ? names[row] : `${page.format.latency(edges[row])} to ${page.format.latency(edges[row + 1])}`;
    return [page.interval(from, from + view.step), [[what, value === null ? "no value" : page.format[unit](value)]]];
  }

  function pointer(host, canvas, marker, view) {
    const { plot } = view, wide = plot.width / view.count;
    let at = null;
    const choose = (column, row) => {
      at = [Math.max(0, Math.min(view.count - 1, column)), Math.max(0, Math.min(view.chart.rows - 1, row))];
      const left = plot.left + at[0] * wide, top = y(view, at[1]), area = canvas.getBoundingClientRect();
      Object.assign(marker.style, { left: `${left - 1}px`, top: `${top - 1}px`, width: `${Math.max(wide, 2) + 2}px`, height: `${view.row + 2}px` });
      marker.hidden = false;
      const said = words(view, ...at);
      page.showTip(...said, area.left + left, area.top + top);
      return said;
    };
    const leave = () => { marker.hidden = true; page.hideTip(); };
    canvas.onpointermove = (event) => {
      const column = Math.floor((event.offsetX - plot.left) / wide), line = Math.floor((event.offsetY - plot.top) / view.row);
      if (column < 0 || line < 0 || column >= view.count || line >= view.chart.rows) leave();
      else choose(column, view.named ? line : view.chart.rows - 1 - line);
    };
    canvas.onpointerleave = leave;
    page.onKeys(host, (dx, dy) => {
      const down = view.named ? dy : -dy;
      page.say(host, ...choose(at ? at[0] + dx : 0, at ? at[1] + down : view.named ? 0 : view.chart.rows - 1));
    }, leave);
  }
})((window.storscope = window.storscope || {}));
