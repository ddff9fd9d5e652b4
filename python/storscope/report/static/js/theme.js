/* Colours for the canvases, taken from the style sheet so that light, dark and print agree with the page, and what all charts draw alike. */
(function (page) {
  "use strict";

  const NAMES = ["ink", "quiet", "line", "surface", "load", "latency", "critical", "band", "bad", "warm"];

  page.readTheme = function () {
    const style = getComputedStyle(document.documentElement);
    const theme = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    theme.heat = style.getPropertyValue("--heat").split(",").map((colour) => rgb(colour.trim()));
    theme.font = `12px ${style.getPropertyValue("--sans").trim()}`;
    theme.strong = `600 12px ${style.getPropertyValue("--sans").trim()}`;
    page.theme = theme;
  };

  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

  /** The heat colour of a share from 0 to 1, as [r, g, b]. */
  page.heat = function (share) {
    const stops = page.theme.heat;
    const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const index = Math.min(Math.floor(place), stops.length - 2);
    return stops[index].map((part, i) => Math.round(part + (stops[index + 1][i] - part) * (place - index)));
  };

  /** Marks a stretch as bad without relying on colour: a tint, slanted lines and a bar along the top. */
  page.markBad = function (context, left, top, width, height, ratio) {
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.fillStyle = page.theme.bad;
    context.globalAlpha = 0.09;
    context.fillRect(left, top, width, height);
    context.globalAlpha = 0.16;
    context.strokeStyle = page.theme.bad;
    context.lineWidth = ratio;
    context.beginPath();
    const step = 8 * ratio;
    for (let x = Math.floor((left - height) / step) * step; x < left + width; x += step) {
      context.moveTo(x, top + height);
      context.lineTo(x + height, top);
    }
    context.stroke();
    context.globalAlpha = 1;
    context.fillStyle = page.theme.bad;
    context.fillRect(left, top, width, 3 * ratio);
    context.restore();
  };

  /** What is drawn is an image, named so that a screen reader tells it; what is pressed stands beside it, not in it. */
  page.image = function (element, words) {
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", words);
  };

  /** What a chart shows, above its upper left corner. */
  page.drawTitle = function (u, title) {
    const context = u.ctx, ratio = uPlot.pxRatio;
    context.save();
    context.scale(ratio, ratio);
    context.font = page.theme.strong;
    context.fillStyle = page.theme.ink;
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.fillText(title, u.bbox.left / ratio, u.bbox.top / ratio - 9);
    context.restore();
  };
})((window.storscope = window.storscope || {}));
