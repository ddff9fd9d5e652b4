/* What a pointer or the keyboard points at: a box beside the pointer, and a sentence for screen readers. */
(function (page) {
  "use strict";

  const tip = () => document.getElementById("tip");

  /** Shows `rows` of [name, value] under `head` near a place of the window. */
  page.showTip = function (head, rows, x, y) {
    const box = tip();
    const title = document.createElement("b");
    title.textContent = head;
    const list = document.createElement("dl");
    for (const [name, value] of rows) {
      const term = document.createElement("dt"), words = document.createElement("dd");
      term.textContent = name;
      words.textContent = value;
      list.append(term, words);
    }
    box.replaceChildren(title, list);
    box.hidden = false;
    const width = box.offsetWidth, height = box.offsetHeight, edge = 8;
    const left = x + 16 + width > document.documentElement.clientWidth - edge ? x - width - 16 : x + 16;
    box.style.left = `${Math.max(edge, left)}px`;
    box.style.top = `${Math.max(edge, Math.min(y - height / 2, window.innerHeight - height - edge))}px`;
  };

  page.hideTip = () => { tip().hidden = true; };

  /** Says the same to a screen reader; only for the keyboard, a pointer would make it chatter. */
  page.say = function (host, head, rows) {
    host.nextElementSibling.textContent = `${head}: ${rows.map(([name, value]) => `${name} ${value}`).join(", ")}`;
  };

  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], PageUp: [-24, 0], PageDown: [24, 0],
    Home: [-Infinity, 0], End: [Infinity, 0] };

  /** Arrow keys on `host` call move(dx, dy); leaving it calls leave(). Redrawing replaces the handlers. */
  page.onKeys = function (host, move, leave) {
    host.onkeydown = (event) => {
      const step = KEYS[event.key];
      if (!step || event.target !== host || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      move(...step);
    };
    host.onblur = () => { page.hideTip(); leave(); };
  };
})((window.storscope = window.storscope || {}));
