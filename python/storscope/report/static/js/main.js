/* Draws every chart, again when the width or the colours change, and for paper. `data-charts` on <html> tells the state. */
(function (page) {
  "use strict";

  const PRINT_WIDTH = 660; // pixels between the margins of A4 and of US letter
  const root = document.documentElement;

  page.printing = false;
  page.widthOf = (host) => (page.printing ? Math.min(PRINT_WIDTH, host.clientWidth || PRINT_WIDTH) : Math.max(240, host.clientWidth));

  function draw(host, data) {
    const chart = data.charts[Number(host.dataset.chart)];
    host.drawnWidth = host.clientWidth;
    page[chart.kind](host, chart, data.columns);
  }

  function drawAll(data) {
    page.readTheme();
    for (const host of document.querySelectorAll("[data-chart]")) draw(host, data);
  }

  function watchWidths(data) {
    const observer = new ResizeObserver((entries) => {
      if (page.printing) return;
      for (const { target } of entries) if (target.clientWidth !== target.drawnWidth) draw(target, data);
    });
    for (const host of document.querySelectorAll("[data-chart]")) observer.observe(host);
  }

  /** Paper: light colours, everything open, everything narrow enough. */
  function watchPrinting(data) {
    let opened = [];
    window.addEventListener("beforeprint", () => {
      page.printing = true;
      root.dataset.print = "";
      opened = [...document.querySelectorAll("details:not([open]):not(.data)")];
      for (const details of opened) details.open = true;
      drawAll(data);
    });
    window.addEventListener("afterprint", () => {
      page.printing = false;
      delete root.dataset.print;
      for (const details of opened) details.open = false;
      drawAll(data);
    });
  }

  /** Buttons on findings that zoom their system's timeline to the finding's window. */
  function linkFindings() {
    for (const button of document.querySelectorAll("button.show")) {
      const panels = [...document.querySelectorAll("#timeline figure")];
      const panel = panels.find((figure) => figure.dataset.system === button.dataset.system) || (panels.length === 1 ? panels[0] : null);
      if (!panel) continue;
      button.hidden = false;
      button.onclick = () => {
        const host = panel.querySelector("[data-chart]"), from = Number(button.dataset.from), to = Number(button.dataset.to);
        const margin = Math.max((to - from) * 0.25, page.zero === null ? 60 : 0);
        host.zoomTo(from - margin, to + margin);
        panel.scrollIntoView({ block: "start" });
        host.focus({ preventScroll: true });
      };
    }
  }

  /** A link to a finding opens it. */
  function openTarget() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const details = target && target.querySelector(":scope > details");
    if (details) details.open = true;
  }

  async function start() {
    const data = await page.unpack();
    page.zero = data.zero;
    drawAll(data);
    linkFindings();
    watchWidths(data);
    watchPrinting(data);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(data));
    window.addEventListener("hashchange", openTarget);
    openTarget();
    root.dataset.charts = "drawn";
  }

  start().catch((error) => {
    root.dataset.charts = `failed: ${error.message}`;
    console.error(error);
  });
})((window.storscope = window.storscope || {}));
