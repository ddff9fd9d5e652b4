/* Latency against load: a point for each interval, and the knee. */
(function (page) {
  "use strict";

  const HEIGHT = 320, NAMED_AT_MOST = 24, NAME_AT_MOST = 32;
  const LOG_FROM = 40; // the greatest latency over the median at which a linear axis hides the rest

  page.scatter = function (host, chart, columns) {
    for (const plot of host.plots || []) plot.destroy();
    host.replaceChildren();
    const points = { x: columns[chart.x], y: columns[chart.y], bad: columns[chart.bad], names: chart.names, chosen: -1 };
    const sorted = points.y.filter((value) => value > 0).sort((a, b) => a - b);
    const log = sorted.length > 0 && sorted[sorted.length - 1] > LOG_FROM * sorted[sorted.length >> 1];
    const plot = new uPlot(options(host, chart, points, log), [points.x, points.y], host);
    host.plots = [plot];
    page.image(plot.root, "Latency");
    pointer(host, plot, points);
  };

  function options(host, chart, points, log) {
    const { quiet, line, font } = page.theme;
    const right = Math.max(points.x[points.x.length - 1], chart.knee ? chart.knee.high || chart.knee.x : 0) * 1.05;
    const axis = { stroke: quiet, font, gap: 6, grid: { stroke: line, width: 1 }, ticks: { show: false } };
    return {
      width: page.widthOf(host), height: HEIGHT, legend: { show: false }, padding: [24, 14, 0, 0],
      cursor: { points: { show: false }, drag: { x: false, y: false }, x: false, y: false },
      scales: { x: { time: false, range: [0, right] }, y: log ? { distr: 3 } : { range: (u, low, high) => [0, high * 1.08] } },
      axes: [
        { ...axis, size: 30, space: 70, label: "Load, operations per second (IOPS)", labelFont: font, labelSize: 20, labelGap: 2, values: (u, splits) => page.ticks("ops_per_s", splits) },
        { ...axis, size: 62, space: 34, values: (u, splits) => page.ticks("latency", splits) },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { drawClear: [(u) => drawKnee(u, chart.knee, points, false)], draw: [(u) => drawPoints(u, points), (u) => drawKnee(u, chart.knee, points, true), (u) => page.drawTitle(u, "Latency")] },
    };
  }

  function drawPoints(u, points) {
    const context = u.ctx, ratio = uPlot.pxRatio, few = points.x.length < 60;
    const radius = (few ? 4 : 2.4) * ratio;
    context.save();
    context.lineWidth = ratio;
    for (const marked of [0, 1]) {
      context.strokeStyle = context.fillStyle = marked ? page.theme.critical : page.theme.load;
      for (let i = 0; i < points.x.length; i++) {
        if (points.bad[i] !== marked) continue;
        context.beginPath();
        context.arc(u.valToPos(points.x[i], "x", true), u.valToPos(points.y[i], "y", true), radius * (i === points.chosen ? 2 : 1), 0, 7);
        context.globalAlpha = marked || few ? 0.75 : 0.16;
        context.fill();
        if (marked || few || i === points.chosen) continue;
        context.globalAlpha = 0.55;
        context.stroke();
      }
    }
    context.restore();
    if (points.names.length && points.names.length <= NAMED_AT_MOST) drawNames(u, points);
  }

  /** Names beside their points, above or below them, where there is room: neither on another name nor on a point. */
  function drawNames(u, points) {
    const context = u.ctx, ratio = uPlot.pxRatio, right = (u.bbox.left + u.bbox.width) / ratio, foot = (u.bbox.top + u.bbox.height) / ratio;
    const spots = points.names.map((name, i) => ({ x: u.valToPos(points.x[i], "x", true) / ratio, y: u.valToPos(points.y[i], "y", true) / ratio }));
    const taken = spots.map(({ x, y }) => ({ left: x - 4, wide: 8, y }));
    context.save();
    context.scale(ratio, ratio);
    context.font = page.theme.font;
    context.fillStyle = page.theme.ink;
    context.textAlign = "left";
    context.textBaseline = "middle";
    points.names.forEach((name, i) => {
      const text = page.shortened(name, NAME_AT_MOST), wide = context.measureText(text).width, { x, y } = spots[i];
      const places = [[x + 8, y], [x - wide - 8, y], [x - wide / 2, y - 14], ...(y + 20 < foot ? [[x - wide / 2, y + 14]] : [])].map(([left, at]) => ({ left, wide, y: at }));
      const place = places.find((one) => one.left > u.bbox.left / ratio && one.left + wide < right && !taken.some((box) => overlap(one, box)));
      if (!place) return;
      taken.push(place);
      context.fillText(text, place.left, place.y);
    });
    context.restore();
  }

  const overlap = (one, other) => one.left < other.left + other.wide && other.left < one.left + one.wide && Math.abs(one.y - other.y) < 12;

  /** The interval of the knee under the points, its line and words above them. */
  function drawKnee(u, knee, points, above) {
    if (!knee) return;
    const context = u.ctx, ratio = uPlot.pxRatio, { left, top, width, height } = u.bbox, at = u.valToPos(knee.x, "x", true);
    context.save();
    if (!above) {
      if (knee.low && knee.high) {
        context.fillStyle = page.theme.warm;
        context.globalAlpha = 0.16;
        const from = Math.max(left, u.valToPos(knee.low, "x", true)), to = Math.min(left + width, u.valToPos(knee.high, "x", true));
        context.fillRect(from, top, Math.max(to - from, ratio), height);
      }
    } else {
      context.strokeStyle = page.theme.warm;
      context.lineWidth = 1.6 * ratio;
      context.setLineDash([6 * ratio, 4 * ratio]);
      context.beginPath();
      context.moveTo(at, top);
      context.lineTo(at, top + height);
      context.stroke();
      context.scale(ratio, ratio);
      context.font = page.theme.strong;
      context.fillStyle = page.theme.ink;
      context.textAlign = "left";
      context.textBaseline = "alphabetic";
      const text = `knee at ${page.format.ops_per_s(knee.x)}`, wide = context.measureText(text).width;
      const x = Math.min(Math.max(at / ratio - wide / 2, left / ratio + 60), (left + width) / ratio - wide);
      context.fillText(text, x, top / ratio - 9);
    }
    context.restore();
  }

  function pointer(host, plot, points) {
    const choose = (index) => {
      points.chosen = index;
      plot.redraw(false);
      if (index < 0) { page.hideTip(); return null; }
      const area = plot.over.getBoundingClientRect();
      const rows = [["Load", page.format.ops_per_s(points.x[index])], ["Latency", page.format.latency(points.y[index])]];
      if (points.bad[index]) rows.push(["Window", "bad"]);
      const head = points.names.length ? points.names[index] : "One interval";
      page.showTip(head, rows, area.left + plot.valToPos(points.x[index], "x"), area.top + plot.valToPos(points.y[index], "y"));
      return [head, rows];
    };
    plot.over.onpointermove = (event) => choose(nearest(plot, points, event.offsetX, event.offsetY));
    plot.over.onpointerleave = () => choose(-1);
    page.onKeys(host, (dx, dy) => {
      const step = dx || dy;
      const said = choose(Math.max(0, Math.min(points.x.length - 1, points.chosen + step)));
      if (said) page.say(host, ...said);
    }, () => choose(-1));
  }

  function nearest(plot, points, left, top) {
    let best = -1, least = 30 * 30;
    for (let i = 0; i < points.x.length; i++) {
      const dx = plot.valToPos(points.x[i], "x") - left, dy = plot.valToPos(points.y[i], "y") - top, away = dx * dx + dy * dy;
      if (away < least) { least = away; best = i; }
    }
    return best;
  }
})((window.storscope = window.storscope || {}));
