/* Numbers with units, as domain/units.py writes them, and instants: in UTC with 24 hours, or since a virtual clock began. */
(function (page) {
  "use strict";

  function three(value) {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 99.95) return Math.round(value).toLocaleString("en-US");
    return value.toFixed(Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(size)))));
  }

  function scaled(value, steps, digits) {
    for (const [size, unit] of steps) if (Math.abs(value) >= size) return `${digits(value / size)} ${unit}`;
    const [size, unit] = steps[steps.length - 1];
    return `${digits(value / size)} ${unit}`;
  }

  const DURATION = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const BANDWIDTH = [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]];
  const absent = (format) => (value) => (value === null || value === undefined ? "no value" : format(value));

  /** Kind of number -> how it is written. */
  page.format = {
    latency_ns_mean: absent((ns) => scaled(ns, DURATION, three)),
    latency: absent((ns) => scaled(ns, DURATION, three)),
    bytes_per_s: absent((rate) => scaled(rate, BANDWIDTH, three)),
    ops_per_s: absent((rate) => `${three(rate)} IOPS`),
    requests_per_s: absent((rate) => `${three(rate)} requests/s`),
    operations: absent((count) => `${Math.round(count).toLocaleString("en-US")} operations`),
    requests: absent((count) => `${three(count)} requests`),
    events: absent((count) => `${Math.round(count).toLocaleString("en-US")} ${Math.round(count) === 1 ? "event" : "events"}`),
  };

  const short = (value) => String(Number(value.toPrecision(3)));
  const whole = (value) => value.toLocaleString("en-US");
  const kilo = (value) => (value >= 1e6 ? `${short(value / 1e6)} M` : value >= 1e3 ? `${short(value / 1e3)} k` : whole(value));

  const LONGEST = 1e5;

  /** How a count is written on an axis that goes to `most`: '80,000', or '80 k' where others would be too long. */
  const counts = (most) => (most >= LONGEST ? kilo : whole);

  /** The same for axes: round numbers, short. */
  const tick = {
    latency_ns_mean: (ns) => (ns === 0 ? "0" : scaled(ns, DURATION, short)),
    latency: (ns) => scaled(ns, DURATION, short),
    bytes_per_s: (rate) => (rate === 0 ? "0" : scaled(rate, BANDWIDTH, short)),
    requests: short,
  };
  const COUNTS = ["ops_per_s", "operations", "events"];

  /** Labels of an axis, all in one style; of null none. */
  page.ticks = function (kind, splits) {
    const write = COUNTS.includes(kind) ? counts(Math.max(...splits.map((value) => Math.abs(value)))) : tick[kind];
    return splits.map((value) => (value === null ? null : value === 0 ? "0" : write(value)));
  };

  /** A name within so many letters: of a longer one its two ends, since names often differ at either. */
  page.shortened = function (name, most) {
    if (name.length <= most) return name;
    const end = (most - 1) >> 1;
    return `${name.slice(0, most - 1 - end)}…${name.slice(-end)}`;
  };

  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const two = (number) => String(number).padStart(2, "0");
  const day = (date) => `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;

  /** Where a virtual clock began, in seconds since 1970: times are told since then. null: they are told in UTC. */
  page.zero = null;

  /** '5.25 s', '2 min 10 s', '1 h 00 min 05 s': a time since the start, to the millisecond, as domain/units.py writes it. */
  function since(seconds) {
    const millis = Math.round((seconds - page.zero) * 1000), whole = Math.floor(millis / 60000);
    if (Math.abs(millis) < 120000) return `${millis / 1000} s`;
    const rest = (millis - whole * 60000) / 1000, hours = Math.floor(whole / 60);
    const minutes = hours ? `${hours} h ${two(whole % 60)} min` : `${whole} min`;
    return rest ? `${minutes} ${rest < 10 ? "0" : ""}${rest} s` : minutes;
  }

  const utc = (seconds) => new Date(Math.round(seconds * 1000)).toISOString().replace("T", " ").replace(".000Z", "Z");

  /** '2026-11-21 02:30:05Z', with milliseconds where there are some; 'start + 5.25 s' of a virtual clock */
  page.instant = (seconds) => (page.zero === null ? utc(seconds) : `start + ${since(seconds)}`);

  /** '2026-11-21 02:30:00 to 02:31:00Z'; 'start + 5.2 s to 5.22 s' */
  page.interval = function (from, to) {
    const start = page.instant(from);
    if (page.zero !== null) return `${start} to ${since(to)}`;
    const end = utc(to);
    return `${start.slice(0, -1)} to ${start.slice(0, 10) === end.slice(0, 10) ? end.slice(11) : end}`;
  };

  const PARTS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
    172800, 345600, 604800, 1209600, 2592000, 7776000, 15552000, 31536000];

  /** Round instants between two, about one for each 84 pixels; of a virtual clock, at round times since its start. */
  page.timeTicks = function (from, to, width) {
    const wanted = Math.max(2, width / 84);
    const origin = page.zero === null ? 0 : page.zero, sizes = page.zero === null ? STEPS : [...PARTS, ...STEPS];
    const step = sizes.find((size) => (to - from) / size <= wanted) || STEPS[STEPS.length - 1];
    const ticks = [];
    for (let number = Math.ceil((from - origin) / step); origin + number * step <= to; number++) ticks.push(origin + number * step);
    return { ticks, step };
  };

  /** Labels for such instants: '02:30', the day under the first one and at every midnight; of days, the year under the first and each new one. */
  page.timeLabels = function (ticks, step) {
    if (page.zero !== null) return ticks.map(since);
    let shown = "";
    return ticks.map((tick) => {
      const date = new Date(tick * 1000), year = String(date.getUTCFullYear());
      if (step >= 31536000) return year;
      if (step >= 86400) {
        if (shown === year) return day(date);
        shown = year;
        return `${day(date)}\n${year}`;
      }
      const clock = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}` + (step < 60 ? `:${two(date.getUTCSeconds())}` : "");
      if (shown === day(date)) return clock;
      shown = day(date);
      return `${clock}\n${shown}`;
    });
  };
})((window.storscope = window.storscope || {}));
