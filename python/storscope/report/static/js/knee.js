/* A search for the knee: latency against load, the visits, the fitted curves, the limit and the answers. */
(function (page) {
  "use strict";

  const marks = page.marks, { drawBars, drawMarker, known, roundValues } = marks;
  const HEIGHT = 420, TITLE = 26, AXIS_WIDTH = 68, ROW = 16;
  const COUNTS = 0, BOUND = 2;

  page.knee = function (host, chart, columns) {
    const state = (host.state = host.state || { log: true, line: -1, place: -1 });
    for (const plot of host.plots || []) plot.destroy();
    const lines = chart.lines.map((line) => ({ ...line, values: columns[line.values], low: columns[line.low], high: columns[line.high],
      states: columns[line.states], fitted: line.fitted.map((number) => columns[number]) }));
    const group = { host, chart, state, lines, offered: columns[chart.offered], done: columns[chart.done], plots: [] };
    const words = state.log ? "Scale from zero" : "Log scale", box = document.createElement("div");
    const bar = marks.controls(group, chart.lines.map((line) => line.label), words, () => { state.log = !state.log; page.knee(host, chart, columns); }, chart.lines.map((line) => line.tone));
    host.replaceChildren(bar, box);
    page.image(box, "Latency");
    group.plots.push(plotOf(group, box, page.widthOf(host)));
    host.plots = group.plots;
    keys(group);
  };

  function plotOf(group, box, width) {
    const { chart, state } = group, [low, high] = chart.latency;
    const { quiet, line, font } = page.theme;
    const shared = { stroke: quiet, font, gap: 6, grid: { stroke: line, width: 1 } };
    const rows = chart.answers.length;
    const options = {
      width, height: HEIGHT + ROW * rows, legend: { show: false }, padding: [TITLE + ROW * rows, 14, 0, 0],
      cursor: { points: { show: false }, drag: { x: false, y: false }, x: false, y: false },
      scales: { x: { time: false, range: () => [0, chart.right] }, y: state.log ? { distr: 3, range: () => [low, high] } : { range: () => [0, high] } },
      axes: [
        { ...shared, size: 30, space: 80, label: "Load offered, requests per second", labelFont: font, labelSize: 20, labelGap: 2, ticks: { stroke: line, size: 5 }, values: (u, splits) => page.ticks("ops_per_s", splits) },
        { ...shared, size: AXIS_WIDTH, space: 30, ticks: { show: false }, ...(state.log ? { splits: (u) => roundValues(u, low, high), filter: (u, splits) => splits } : {}),
          values: (u, splits) => page.ticks("latency", splits) },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        drawClear: [(u) => drawBands(u, group)],
        draw: [(u) => inside(u, () => { drawLight(u, group); drawLimit(u, group); drawCurves(u, group); }), (u) => drawLightWords(u, group), (u) => drawVisits(u, group), (u) => drawAnswers(u, group), (u) => drawWords(u, group), (u) => page.drawTitle(u, "Latency")],
      },
    };
    const plot = new uPlot(options, [group.offered, group.offered.map(() => (low + high) / 2)], box);
    plot.over.onpointermove = (event) => choose(group, ...nearest(group, plot, event.offsetX, event.offsetY));
    plot.over.onpointerleave = () => choose(group, -1, -1);
    return plot;
  }

  /** Draws with everything outside the plot cut away. */
  function inside(u, draw) {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    draw();
    u.ctx.restore();
  }

  const across = (u, load) => u.valToPos(load, "x", true);
  const up = (u, latency) => u.valToPos(latency, "y", true);
  const isFaint = (group, line) => group.state.line >= 0 && group.state.line !== line;

  /** The intervals of the answers, under everything. */
  function drawBands(u, group) {
    inside(u, () => {
      for (const { low, high, tone } of group.chart.answers) {
        const from = across(u, low);
        u.ctx.globalAlpha = 0.17;
        u.ctx.fillStyle = marks.colour(tone);
        u.ctx.fillRect(from, u.bbox.top, Math.max(across(u, high) - from, uPlot.pxRatio), u.bbox.height);
      }
    });
  }

  function stroke(u, colour, points, width, dash) {
    const context = u.ctx, ratio = uPlot.pxRatio;
    context.save();
    context.strokeStyle = colour;
    context.lineWidth = width * ratio;
    context.setLineDash(dash.map((length) => length * ratio));
    context.beginPath();
    points.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    context.restore();
  }

  /** The flat part with its interval, and twice that as far as the knee: the knee's own explanation. */
  function drawLight(u, { chart }) {
    const { light } = chart, { left, width } = u.bbox;
    if (!light) return;
    const end = light.end === null ? left + width : across(u, light.end), colour = marks.colour(0);
    u.ctx.save();
    u.ctx.globalAlpha = 0.13;
    u.ctx.fillStyle = colour;
    u.ctx.fillRect(left, up(u, light.high), end - left, up(u, light.low) - up(u, light.high));
    u.ctx.restore();
    stroke(u, colour, [[left, up(u, light.ns)], [end, up(u, light.ns)]], 1.1, [2, 3]);
    if (light.twice_ns !== null) stroke(u, colour, [[left, up(u, light.twice_ns)], [end, up(u, light.twice_ns)]], 1.1, [2, 3]);
  }

  function drawLimit(u, { chart }) {
    const { limit } = chart, { left, width } = u.bbox;
    if (!limit || limit.where !== "inside") return;
    const y = Math.round(up(u, limit.ns));
    stroke(u, page.theme.critical, [[left, y], [left + width, y]], 2, [8, 4]);
  }

  function drawCurves(u, group) {
    group.lines.forEach(({ fitted: [loads, latencies], tone }, line) => {
      if (!loads) return;
      u.ctx.save();
      u.ctx.globalAlpha = isFaint(group, line) ? 0.22 : 1;
      stroke(u, marks.colour(tone), Array.from(loads, (load, at) => [across(u, load), up(u, latencies[at])]), group.state.line === line ? 2.8 : 2, []);
      u.ctx.restore();
    });
  }

  /** A visit's place; what is above the axis stays at its edge, which only lower bounds are. */
  function placeOf(u, group, line, at) {
    const value = group.lines[line].values[at];
    if (!known(value) || !(value > 0)) return null;
    return [across(u, group.offered[at]), Math.max(up(u, value), u.bbox.top + 5 * uPlot.pxRatio)];
  }

  function drawVisits(u, group) {
    const context = u.ctx, ratio = uPlot.pxRatio, { state } = group;
    for (let line = group.lines.length - 1; line >= 0; line--) {
      const { values, low, high, states, tone } = group.lines[line], faint = isFaint(group, line);
      context.save();
      context.globalAlpha = faint ? 0.1 : 0.45;
      drawBars(u, group.offered, low, high, tone, values);
      context.globalAlpha = faint ? 0.22 : 1;
      for (let at = 0; at < states.length; at++) {
        const place = placeOf(u, group, line, at), isChosen = state.line === line && state.place === at;
        if (place) drawMarker(context, ...place, tone, (isChosen ? 6 : 3.6) * ratio, ratio, states[at] !== COUNTS, states[at] === BOUND ? "triangle" : undefined);
      }
      context.restore();
    }
  }

  /** A visit that tells no latency: a cross on the axis. */
  function drawUnused(u, group, at) {
    const ratio = uPlot.pxRatio, x = across(u, group.offered[at]), y = floorOf(u), size = (group.state.place === at ? 6 : 4) * ratio;
    stroke(u, page.theme.critical, [[x - size, y - size], [x + size, y + size]], 1.8, []);
    stroke(u, page.theme.critical, [[x + size, y - size], [x - size, y + size]], 1.8, []);
  }

  const floorOf = (u) => u.bbox.top + u.bbox.height - 8 * uPlot.pxRatio;

  /** Where the words of an answer stand: above the title, one row for each. */
  const rowOf = (u, group, row) => u.bbox.top / uPlot.pxRatio - TITLE - ROW * (group.chart.answers.length - row) + ROW / 2;

  function drawAnswers(u, group) {
    group.chart.answers.forEach(({ x, tone }, row) => {
      const at = Math.round(across(u, x)), top = (rowOf(u, group, row) - ROW / 2) * uPlot.pxRatio;
      stroke(u, marks.colour(tone), [[at, top], [at, u.bbox.top + u.bbox.height]], 2, []);
    });
  }

  /** Words on a ground of their own, so that no line runs through them. */
  function write(context, text, x, y, colour, font) {
    context.font = font;
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = page.theme.surface;
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  }

  /** Right of its line if there is room, with its interval if there is room for that too; it interrupts other lines. */
  function nameAnswer(context, { label, interval }, at, y, left, right) {
    const { font, strong, ink, quiet, surface } = page.theme;
    context.font = strong;
    const wide = context.measureText(label).width;
    context.font = font;
    const rest = `  ${interval}`, all = wide + context.measureText(rest).width, isWhole = at + 6 + all < right;
    const from = at + 6 + wide < right ? at + 6 : Math.max(left, Math.min(at - 6, right) - wide);
    context.fillStyle = surface;
    context.fillRect(from - 3, y - ROW / 2, (isWhole ? all : wide) + 6, ROW);
    write(context, label, from, y, ink, strong);
    if (isWhole) write(context, rest, from + wide, y, quiet, font);
  }

  /** What the dotted lines are, under the visits, so that no word hides one. */
  function drawLightWords(u, group) {
    const { light } = group.chart, { font, quiet } = page.theme, context = u.ctx, ratio = uPlot.pxRatio;
    if (!light) return;
    const taken = takenPlaces(u, group);
    context.save();
    context.scale(ratio, ratio);
    context.textAlign = "left";
    context.textBaseline = "middle";
    const name = (words, y) => write(context, words, freePlace(context, u, taken, words, y), y, quiet, font);
    name(light.label, up(u, light.ns) / ratio + 10);
    if (light.twice_ns !== null) name(light.twice_label, up(u, light.twice_ns) / ratio - 9);
    context.restore();
  }

  /** Where visits and curves are. */
  function takenPlaces(u, group) {
    const taken = [];
    group.lines.forEach(({ fitted: [loads, latencies], values }, line) => {
      values.forEach((_, at) => { const place = placeOf(u, group, line, at); if (place) taken.push(place); });
      if (loads) loads.forEach((load, at) => taken.push([across(u, load), up(u, latencies[at])]));
    });
    return taken.map(([x, y]) => [x / uPlot.pxRatio, y / uPlot.pxRatio]);
  }

  /** The leftmost place in the plot where words at this height touch none of them; the left edge if there is none. */
  function freePlace(context, u, taken, words, y) {
    context.font = page.theme.font;
    const first = u.bbox.left / uPlot.pxRatio + 6, last = first + u.bbox.width / uPlot.pxRatio - 12, wide = context.measureText(words).width;
    const near = taken.filter((place) => Math.abs(place[1] - y) < 11);
    for (let x = first; x + wide < last; x += 6) if (!near.some((place) => place[0] > x - 6 && place[0] < x + wide + 6)) return x;
    return first;
  }

  function drawWords(u, group) {
    const context = u.ctx, ratio = uPlot.pxRatio, { chart } = group, { font, strong } = page.theme;
    const left = u.bbox.left / ratio, right = left + u.bbox.width / ratio, top = u.bbox.top / ratio;
    context.save();
    context.scale(ratio, ratio);
    context.textAlign = "left";
    context.textBaseline = "middle";
    chart.answers.forEach((answer, row) => nameAnswer(context, answer, across(u, answer.x) / ratio, rowOf(u, group, row), left, right));
    const { limit } = chart;
    if (limit) {
      const y = limit.where === "inside" ? up(u, limit.ns) / ratio - 9 : limit.where === "above" ? top + 9 : floorOf(u) / ratio;
      write(context, limit.where === "inside" ? limit.label : `${limit.label}: ${limit.where} this range`, left + 6, y, page.theme.critical, strong);
    }
    context.restore();
    for (const at of chart.unused) drawUnused(u, group, at);
  }

  // Reading -----------------------------------------------------------------------------------------------------------

  function reading(group, at) {
    const { chart } = group, rows = [["Done", page.format.requests_per_s(group.done[at])]];
    for (const { label, values, low, high, states } of group.lines) {
      const format = page.format.latency, isBound = states[at] === BOUND && known(values[at]);
      const spread = known(low[at]) && known(high[at]) ? ` (${format(low[at])} to ${format(high[at])})` : known(low[at]) ? ` (from ${format(low[at])})` : "";
      rows.push([label, (isBound ? "> " : "") + (known(values[at]) ? format(values[at]) : "no value") + spread]);
    }
    rows.push(["Measured for", chart.took[at]]);
    if (chart.why[at]) rows.push(["But", chart.why[at]]);
    return [`Offered ${page.format.requests_per_s(group.offered[at])}`, rows];
  }

  function choose(group, line, place) {
    const { state } = group, [plot] = group.plots;
    if (place < 0) { state.place = -1; if (!marks.pressed(group)) state.line = -1; page.hideTip(); plot.redraw(false); return null; }
    state.place = place;
    if (!marks.pressed(group)) state.line = line;
    plot.redraw(false);
    const said = reading(group, place), area = plot.over.getBoundingClientRect(), value = line < 0 ? null : group.lines[line].values[place];
    page.showTip(...said, area.left + plot.valToPos(group.offered[place], "x"), area.top + (known(value) ? Math.max(0, plot.valToPos(value, "y")) : plot.over.clientHeight));
    return said;
  }

  function nearest(group, plot, left, top) {
    const ratio = uPlot.pxRatio, origin = [plot.bbox.left / ratio, plot.bbox.top / ratio];
    let best = [-1, -1], least = 32 * 32;
    const consider = (line, at, [x, y]) => {
      const away = (x / ratio - origin[0] - left) ** 2 + (y / ratio - origin[1] - top) ** 2;
      if (away < least) { least = away; best = [line, at]; }
    };
    group.lines.forEach((_, line) => {
      for (let at = 0; at < group.offered.length; at++) { const place = placeOf(plot, group, line, at); if (place) consider(line, at, place); }
    });
    for (const at of group.chart.unused) consider(-1, at, [across(plot, group.offered[at]), floorOf(plot)]);
    return best;
  }

  /** From visit to visit, by load. */
  function keys(group) {
    let place = -1;
    page.onKeys(group.host, (dx, dy) => {
      place = Math.min(Math.max(place + (dx || dy), 0), group.offered.length - 1);
      const line = group.lines.findIndex(({ values }) => known(values[place])), said = choose(group, line, place);
      if (said) page.say(group.host, ...said);
    }, () => choose(group, -1, -1));
  }
})((window.storscope = window.storscope || {}));
