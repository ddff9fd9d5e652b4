/* A sweep: small charts of rate, throughput and latency over one axis of the matrix, one line for each load. */
(function (page) {
  "use strict";

  const marks = page.marks, { drawBars, drawMarker, known, parts, pressed, roundValues, strokeLine } = marks;
  const HEIGHT = 250, TWO_COLUMNS = 700, GAP = 20, AXIS_WIDTH = 68;
  const MARKED = 60; // of a line with more places only some have a marker: they would hide it
  const KIND = {
    ops_per_s: "ops_per_s", bytes_per_s: "bytes_per_s", latency_ns_mean: "latency", latency_ns_p99: "latency",
    flush_latency_ns_mean: "latency", flush_latency_ns_p99: "latency", response_ns: "latency", service_ns: "latency",
  };

  /** Draws one mode into `host`; keeps what the reader chose over redraws. */
  page.sweep = function (host, chart, columns) {
    const state = (host.state = host.state || { log: null, line: -1, place: -1 });
    for (const plot of host.plots || []) plot.destroy();
    const group = { host, chart, state, x: chart.x.map((number) => columns[number]), invalid: chart.invalid.map((number) => columns[number]), plots: [] };
    group.columns = chart.panels.map((panel) => panel.lines.map((line) => line.map((number) => columns[number])));
    const width = page.widthOf(host), two = width >= TWO_COLUMNS && chart.panels.length > 1, grid = document.createElement("div");
    grid.className = two ? "panels two" : "panels";
    host.replaceChildren(controls(group, () => page.sweep(host, chart, columns)), grid);
    chart.panels.forEach((panel, number) => {
      const box = document.createElement("div");
      grid.append(box);
      page.image(box, panel.title);
      group.plots.push(plotOf(group, number, box, two ? Math.floor((width - GAP) / 2) : width));
    });
    host.plots = group.plots;
    keys(group);
  };

  function controls(group, redraw) {
    const { chart, state } = group;
    const words = chart.panels.some((panel, number) => isLog(group, number)) ? "Scales from zero" : "Log scales";
    return marks.controls(group, chart.labels.length > 1 ? chart.labels : [], words, () => { state.log = words === "Log scales"; redraw(); }, chart.looks);
  }

  /** The colour and marker of a line: its own, or that of the side which it belongs to. */
  const lookOf = (group, line) => (group.chart.looks ? group.chart.looks[line] : line);

  /** Until the reader chooses, each panel takes the scale that shows its values. */
  const isLog = (group, number) => (group.state.log === null ? group.chart.panels[number].log : group.state.log);

  function plotOf(group, number, box, width) {
    const { chart } = group, panel = chart.panels[number], axis = chart.axis, values = axis.values;
    const log = isLog(group, number), [low, high] = bounds(group.columns[number], log);
    const { quiet, line, font } = page.theme;
    const shared = { stroke: quiet, font, gap: 6, grid: { stroke: line, width: 1 } };
    const options = {
      width, height: HEIGHT, legend: { show: false }, padding: [24, 14, 0, 0],
      cursor: { points: { show: false }, drag: { x: false, y: false }, x: false, y: false },
      scales: {
        x: axis.is_time ? { time: false, range: () => [0, values[values.length - 1] * 1.02] } : { time: false, distr: 3, log: 2, range: () => around(values) },
        y: log ? { distr: 3, range: () => [low, high] } : { range: () => [0, high] },
      },
      axes: [
        { ...shared, size: 30, label: axis.title, labelFont: font, labelSize: 20, labelGap: 2, ticks: { stroke: line, size: 5 },
          ...(axis.is_time ? timeTicks() : { splits: () => values, filter: (u, splits) => splits, values: (u, splits) => thinned(u, splits, axis.labels) }) },
        { ...shared, size: AXIS_WIDTH, space: 30, ticks: { show: false }, ...(log ? { splits: (u) => roundValues(u, low, high), filter: (u, splits) => splits } : {}),
          values: (u, splits) => page.ticks(KIND[panel.name], splits) },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [(u) => drawLines(u, group, number), (u) => page.drawTitle(u, panel.title)] },
    };
    const plot = new uPlot(options, [values, values.map(() => (low + high) / 2)], box);
    follow(group, plot, number);
    return plot;
  }

  /** From a little below the least to a little above the greatest value, on a logarithmic axis. */
  function around(values) {
    const least = values[0], most = values[values.length - 1], room = Math.pow(most / least, 0.04);
    return [least / room, most * room];
  }

  /** Room for every value, and for intervals as far as they leave the lines readable; longer ones are cut at the edge. */
  function bounds(lines, log) {
    const good = (value) => known(value) && (!log || value > 0);
    const values = lines.flatMap(([column]) => Array.from(column).filter(good)), most = Math.max(...values), least = Math.min(...values);
    const ends = lines.flatMap(([, ...columns]) => columns.flatMap((column) => Array.from(column).filter(good)));
    const top = Math.min(Math.max(most, ...ends), most * (log ? 2.5 : 1.35)), bottom = Math.max(Math.min(least, ...ends), least / 2.5);
    return log ? [bottom / 1.25, top * 1.25] : [0, (top || 1) * 1.08];
  }

  const span = (seconds) => (seconds === 0 ? "0" : seconds < 120 ? `${Number(seconds.toPrecision(3))} s` : seconds < 3600 ? `${Number((seconds / 60).toPrecision(3))} min` : `${Number((seconds / 3600).toPrecision(3))} h`);

  function timeTicks() {
    const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];
    return {
      splits: (u, at, low, high) => {
        const wanted = Math.max(2, u.bbox.width / uPlot.pxRatio / 80), step = steps.find((size) => high / size <= wanted) || steps[steps.length - 1];
        return Array.from({ length: Math.floor(high / step) + 1 }, (_, tick) => tick * step);
      },
      values: (u, splits) => splits.map(span),
    };
  }

  /** Labels of the values. Where they would touch, every second or third; of uneven ones, each that finds room. */
  function thinned(u, splits, labels) {
    u.ctx.save();
    u.ctx.font = page.theme.font;
    const wide = labels.map((label) => u.ctx.measureText(label).width), middle = splits.map((value) => u.valToPos(value, "x"));
    u.ctx.restore();
    const clear = (at, before) => middle[at] - wide[at] / 2 > middle[before] + wide[before] / 2 + 8;
    const fits = (step) => splits.every((_, at) => at < step || at % step || clear(at, at - step));
    const even = splits.every((_, at) => at < 2 || Math.abs(middle[at] - 2 * middle[at - 1] + middle[at - 2]) < 2);
    if (!even) {
      let last = -1;
      return splits.map((_, at) => { if (last >= 0 && !clear(at, last)) return ""; last = at; return labels[at]; });
    }
    let step = 1;
    while (step < splits.length && !fits(step)) step++;
    return splits.map((_, at) => (at % step ? "" : labels[at]));
  }

  function drawLines(u, group, number) {
    const { state } = group, ratio = uPlot.pxRatio, order = group.columns[number].map((_, line) => line);
    if (state.line >= 0) order.push(order.splice(state.line, 1)[0]);
    for (const line of order) {
      const [values, low, high] = group.columns[number][line], x = group.x[line], faint = state.line >= 0 && state.line !== line;
      const places = positions(u, x, values), look = lookOf(group, line), every = Math.ceil(places.length / MARKED);
      u.ctx.save();
      u.ctx.globalAlpha = faint ? 0.22 : 1;
      if (low) {
        u.ctx.globalAlpha = faint ? 0.1 : state.line === line ? 0.9 : 0.4;
        drawBars(u, x, low, high, look);
        u.ctx.globalAlpha = faint ? 0.22 : 1;
      }
      for (const part of parts(places)) strokeLine(u.ctx, part, look, ratio, state.line === line ? 2.6 : 1.8);
      places.forEach((place, at) => {
        const chosen = state.line === line && state.place === at, bad = group.invalid[line][at];
        if (place && (chosen || bad || at % every === 0)) drawMarker(u.ctx, place[0], place[1], look, (chosen ? 6 : 3.6) * ratio, ratio, bad);
      });
      u.ctx.restore();
    }
  }

  function positions(u, x, values) {
    return Array.from(values, (value, at) => (known(value) && (value > 0 || u.scales.y.distr !== 3) ? [u.valToPos(x[at], "x", true), u.valToPos(value, "y", true)] : null));
  }

  /** Everything that was measured at a place of a line, in words. */
  function reading(group, line, place) {
    const { chart } = group, axis = chart.axis, at = group.x[line][place];
    const index = axis.values.reduce((best, value, number) => (Math.abs(value - at) < Math.abs(axis.values[best] - at) ? number : best), 0);
    const where = axis.is_time ? `after ${span(at)}` : `${axis.title} ${axis.labels[index]}`;
    const rows = chart.panels.map((panel, number) => {
      const [values, low, high] = group.columns[number][line], format = page.format[KIND[panel.name]];
      const spread = low && known(low[place]) ? ` (${format(low[place])} to ${format(high[place])})` : "";
      return [panel.title, (known(values[place]) ? format(values[place]) : "no value") + spread];
    });
    if (group.invalid[line][place]) rows.push(["Invalid runs", String(group.invalid[line][place])]);
    return [chart.labels.length > 1 ? `${chart.labels[line]}, ${where}` : where, rows];
  }

  function choose(group, plot, number, line, place) {
    const { state } = group;
    if (line < 0) { state.place = -1; if (!pressed(group)) state.line = -1; page.hideTip(); for (const one of group.plots) one.redraw(false); return null; }
    if (!pressed(group) || state.line === line) { state.line = line; state.place = place; }
    for (const one of group.plots) one.redraw(false);
    const said = reading(group, line, place), area = plot.over.getBoundingClientRect(), value = group.columns[number][line][0][place];
    page.showTip(...said, area.left + plot.valToPos(group.x[line][place], "x"), area.top + (known(value) ? plot.valToPos(value, "y") : 0));
    return said;
  }

  function follow(group, plot, number) {
    plot.over.onpointermove = (event) => choose(group, plot, number, ...nearest(group, plot, number, event.offsetX, event.offsetY));
    plot.over.onpointerleave = () => choose(group, plot, number, -1, -1);
  }

  function nearest(group, plot, number, left, top) {
    let best = [-1, -1], least = 32 * 32;
    group.columns[number].forEach(([values], line) => {
      for (let place = 0; place < values.length; place++) {
        if (!known(values[place])) continue;
        const dx = plot.valToPos(group.x[line][place], "x") - left, dy = plot.valToPos(values[place], "y") - top, away = dx * dx + dy * dy;
        if (away < least) { least = away; best = [line, place]; }
      }
    });
    return best;
  }

  /** Left and right along a line, up and down from line to line. */
  function keys(group) {
    let line = 0, place = -1;
    page.onKeys(group.host, (dx, dy) => {
      line = Math.min(Math.max(line + dy, 0), group.x.length - 1);
      place = Math.min(Math.max(place + dx, 0), group.x[line].length - 1);
      const said = choose(group, group.plots[0], 0, line, place);
      if (said) page.say(group.host, ...said);
    }, () => choose(group, group.plots[0], 0, -1, -1));
  }
})((window.storscope = window.storscope || {}));
