/* Load and latency over time: a small chart for each, one pointer, one zoom. */
(function (page) {
  "use strict";

  const PANELS = [["ops_per_s", "Operations", 150], ["bytes_per_s", "Throughput", 130], ["latency_ns_mean", "Latency", 204]];
  /** Of what the axis tells no unit of. */
  const UNITS = { ops_per_s: " (IOPS)" };
  /** Above the greatest value: room for its words below the bar of a bad window. */
  const HEADROOM = 1.28, WORDS_BELOW_TOP = 18;
  const AXIS_WIDTH = 68, TITLE_HEIGHT = 22;

  /** Draws one system's timeline into `host`; keeps what the reader chose over redraws. */
  page.timeline = function (host, chart, columns) {
    const state = (host.state = host.state || { choice: 0, log: false, zoom: null });
    for (const plot of host.plots || []) plot.destroy();
    const series = read(chart.choices[state.choice], columns);
    const shown = PANELS.filter(([name]) => series.panels[name]);
    host.replaceChildren(controls(host, chart, columns, state));
    const group = { host, chart, series, state, plots: [] };
    shown.forEach(([name, words, height], number) => {
      const bottom = number === shown.length - 1;
      const box = document.createElement("div");
      box.className = "strip";
      host.append(box);
      group.plots.push(panel(group, box, name, words, height + (bottom ? 34 : 0), bottom));
    });
    host.plots = group.plots;
    if (state.zoom) group.plots[0].setScale("x", state.zoom);
    keys(group);
    host.zoomTo = (from, to) => group.plots[0].setScale("x", { min: from, max: to });
  };

  function read(choice, columns) {
    const panels = {};
    for (const [name, [mean, low, high]] of Object.entries(choice.panels)) {
      panels[name] = { mean: columns[mean], low: low === undefined ? null : columns[low], high: columns[high === undefined ? mean : high] };
    }
    return { label: choice.label, times: columns[choice.t], samples: choice.samples, panels };
  }

  function controls(host, chart, columns, state) {
    const bar = document.createElement("div");
    bar.className = "controls";
    const redraw = () => page.timeline(host, chart, columns);
    if (chart.choices.length > 1) {
      const label = document.createElement("label"), select = document.createElement("select");
      label.textContent = "Show ";
      chart.choices.forEach((choice, number) => select.add(new Option(choice.label, number, false, number === state.choice)));
      select.onchange = () => { state.choice = Number(select.value); redraw(); };
      label.append(select);
      bar.append(label);
    }
    if (chart.choices.some((choice) => choice.panels.latency_ns_mean)) {
      bar.append(button(state.log ? "Latency from zero" : "Latency on a log scale", () => { state.log = !state.log; redraw(); }));
    }
    const whole = button("Whole time", () => { state.zoom = null; redraw(); });
    whole.className = "whole";
    whole.hidden = !state.zoom;
    bar.append(whole);
    return bar;
  }

  function button(words, action) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = words;
    made.onclick = action;
    return made;
  }

  function panel(group, box, name, words, height, bottom) {
    const { times, panels } = group.series;
    const data = panels[name];
    const log = name === "latency_ns_mean" && group.state.log;
    const width = page.widthOf(group.host);
    const options = {
      width, height, legend: { show: false }, padding: [TITLE_HEIGHT, 32, 0, 0],
      cursor: { x: true, y: false, points: { show: false }, drag: { x: true, y: false, setScale: true } },
      scales: { x: { time: true }, y: log ? { distr: 3 } : { range: (u, low, high) => [0, (high || 1) * HEADROOM] } },
      axes: [timeAxis(bottom), valueAxis(name)],
      series: [{}, hidden(), hidden()],
      hooks: {
        drawClear: [(u) => drawBad(u, group.chart.bad)],
        draw: [(u) => drawValues(u, times, data, name), (u) => drawWords(u, times, data, name, words)],
        setCursor: [(u) => follow(group, u)],
        setScale: [(u, key) => key === "x" && zoom(group, u)],
      },
    };
    const positive = (values) => (log ? values.map((value) => (value > 0 ? value : null)) : values);
    page.image(box, words);
    return new uPlot(options, [times, positive(data.mean), positive(data.high)], box);
  }

  const hidden = () => ({ scale: "y", paths: () => null, points: { show: false } });

  function timeAxis(bottom) {
    const { quiet, line, font } = page.theme;
    return {
      stroke: quiet, font, size: bottom ? 42 : 8, gap: 6,
      grid: { stroke: line, width: 1 }, ticks: { show: bottom, stroke: line, size: 5 },
      splits: (u, axis, min, max) => page.timeTicks(min, max, u.bbox.width / uPlot.pxRatio).ticks,
      values: (u, splits) => (bottom ? page.timeLabels(splits, splits.length > 1 ? splits[1] - splits[0] : 1) : splits.map(() => "")),
    };
  }

  function valueAxis(name) {
    const { quiet, line, font } = page.theme;
    return {
      scale: "y", stroke: quiet, font, size: AXIS_WIDTH, gap: 6, space: 26,
      grid: { stroke: line, width: 1 }, ticks: { show: false },
      values: (u, splits) => page.ticks(name, splits),
    };
  }

  function drawBad(u, windows) {
    const { left, top, width, height } = u.bbox;
    for (const [from, to] of windows) {
      const start = Math.max(left, u.valToPos(from, "x", true)), end = Math.min(left + width, u.valToPos(to, "x", true));
      if (end > left && start < left + width) page.markBad(u.ctx, start, top, Math.max(end - start, 2 * uPlot.pxRatio), height, uPlot.pxRatio);
    }
  }

  /** Steps, since a value holds for its whole interval; a band from the smallest to the greatest; nothing over gaps. */
  function drawValues(u, times, data, name) {
    const context = u.ctx, { left, top, width, height } = u.bbox, colour = name === "latency_ns_mean" ? page.theme.latency : page.theme.load;
    const x = times.map((time) => u.valToPos(time, "x", true));
    const y = (value) => u.valToPos(value, "y", true);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.fillStyle = context.strokeStyle = colour;
    const floor = top + height;
    for (let i = 0; i + 1 < times.length; i++) {
      if (data.mean[i] === null || x[i + 1] < left || x[i] > left + width) continue;
      const wide = Math.max(x[i + 1] - x[i], 1);
      if (data.low) {
        const peak = y(data.high[i]), foot = data.low[i] > 0 || !u.scales.y.distr || u.scales.y.distr === 1 ? y(data.low[i]) : floor;
        context.globalAlpha = 0.28;
        context.fillRect(x[i], peak, wide, Math.max(foot - peak, 1));
      }
    }
    if (name !== "latency_ns_mean") fillUnder(context, x, data.mean.map((value) => (value === null ? null : y(value))), floor);
    context.globalAlpha = 1;
    context.lineWidth = 1.4 * uPlot.pxRatio;
    context.lineJoin = "round";
    context.beginPath();
    let down = false;
    for (let i = 0; i + 1 < times.length; i++) {
      const value = data.mean[i];
      if (value === null || (u.scales.y.distr === 3 && value <= 0)) { down = false; continue; }
      context[down ? "lineTo" : "moveTo"](x[i], y(value));
      context.lineTo(down ? x[i + 1] : Math.max(x[i + 1], x[i] + uPlot.pxRatio), y(value)); // seconds among years are seen, too
      down = true;
    }
    context.stroke();
    context.restore();
  }

  /** Load stands on the ground; one path, so that neighbours leave no seams. */
  function fillUnder(context, x, tops, floor) {
    context.globalAlpha = 0.13;
    context.beginPath();
    for (let i = 0; i + 1 < tops.length; i++) {
      if (tops[i] !== null) context.rect(x[i], tops[i], x[i + 1] - x[i], floor - tops[i]);
    }
    context.fill();
  }

  /** The panel's name, and its highest value where it stands. */
  function drawWords(u, times, data, name, words) {
    const context = u.ctx, ratio = uPlot.pxRatio, { left, top, width } = u.bbox, { min, max } = u.scales.x;
    let peak = -1;
    for (let i = 0; i < times.length; i++) {
      if (data.high[i] !== null && times[i] >= min && times[i] <= max && (peak < 0 || data.high[i] > data.high[peak])) peak = i;
    }
    context.save();
    context.scale(ratio, ratio);
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.lineJoin = "round";
    const outlined = (text, x, y) => {
      context.lineWidth = 4;
      context.strokeStyle = page.theme.surface;
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    };
    if (peak >= 0) {
      const x = u.valToPos(times[peak], "x", true) / ratio, y = u.valToPos(data.high[peak], "y", true) / ratio;
      context.fillStyle = name === "latency_ns_mean" ? page.theme.latency : page.theme.load;
      context.beginPath();
      context.arc(x, y, 3, 0, 7);
      context.fill();
      context.font = page.theme.font;
      const text = page.format[name](data.high[peak]), wide = context.measureText(text).width;
      const right = x + wide + 10 < (left + width) / ratio;
      context.fillStyle = page.theme.ink;
      outlined(text, right ? x + 5 : x - wide - 5, Math.max(y - 5, top / ratio + WORDS_BELOW_TOP));
    }
    context.font = page.theme.strong;
    context.fillStyle = page.theme.ink;
    context.fillText(words + (UNITS[name] || ""), left / ratio, top / ratio - 8);
    context.restore();
  }

  function zoom(group, source) {
    const { min, max } = source.scales.x;
    const times = group.series.times;
    const whole = min <= times[0] && max >= times[times.length - 1];
    group.state.zoom = whole ? null : { min, max };
    const reset = group.host.querySelector("button.whole");
    if (reset) reset.hidden = whole;
    for (const plot of group.plots) {
      if (plot !== source && (plot.scales.x.min !== min || plot.scales.x.max !== max)) plot.setScale("x", { min, max });
    }
  }

  function follow(group, source) {
    if (group.following) return;
    group.following = true;
    const { left, idx } = source.cursor;
    for (const plot of group.plots) if (plot !== source) plot.setCursor({ left, top: left < 0 ? -10 : 1 }, false);
    group.following = false;
    if (left < 0 || idx === null || idx === undefined) { page.hideTip(); return; }
    const area = source.over.getBoundingClientRect();
    const [head, rows] = words(group, covering(group, source.posToVal(left, "x")));
    page.showTip(head, rows, area.left + left, area.top + Math.max(source.cursor.top, 0));
  }

  /** The row whose interval holds an instant: rows start at their time. */
  function covering(group, time) {
    const times = group.series.times;
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time) low = middle; else high = middle - 1;
    }
    return low;
  }

  function words(group, index) {
    const { times, panels } = group.series;
    const rows = PANELS.filter(([name]) => panels[name]).map(([name, label]) => {
      const { mean, low, high } = panels[name], format = page.format[name];
      const range = low && low[index] !== null && low[index] !== high[index] ? ` (${format(low[index])} to ${format(high[index])})` : "";
      return [label, format(mean[index]) + range];
    });
    if (group.chart.bad.some(([from, to]) => times[index] < to && (times[index + 1] || times[index]) > from)) rows.push(["Window", "bad"]);
    return [index + 1 < times.length ? page.interval(times[index], times[index + 1]) : page.instant(times[index]), rows];
  }

  function keys(group) {
    const { times } = group.series, first = group.plots[0];
    let index = -1;
    page.onKeys(group.host, (step) => {
      index = Math.max(0, Math.min(times.length - 1, (index < 0 && step < 0 ? times.length : index) + step));
      const area = first.over.getBoundingClientRect(), left = first.valToPos(times[index], "x");
      group.following = true;
      for (const plot of group.plots) plot.setCursor({ left, top: 1 }, false);
      group.following = false;
      const [head, rows] = words(group, index);
      page.showTip(head, rows, area.left + left, area.top + area.height / 2);
      page.say(group.host, head, rows);
    }, () => group.plots.forEach((plot) => plot.setCursor({ left: -10, top: -10 }, false)));
  }
})((window.storscope = window.storscope || {}));
