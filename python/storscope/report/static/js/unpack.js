/* Chart data out of the page: base64, gzip, planes of bytes. The other end is pack.py; the two change together. */
(function (page) {
  "use strict";

  /** The page's data: { charts, columns, zero }, columns as arrays with null for absent; `zero` is where a virtual clock began. */
  page.unpack = async function () {
    const island = JSON.parse(document.getElementById("charts-data").textContent);
    const packed = Uint8Array.from(atob(document.getElementById("charts-pack").textContent), (c) => c.charCodeAt(0));
    const bytes = await gunzip(packed);
    let offset = 0;
    const columns = island.columns.map((column) => {
      const words = joinPlanes(bytes, offset, column.n);
      offset += 4 * column.n;
      return readers[column.kind](words, column.base);
    });
    return { charts: island.charts, columns, zero: island.zero === undefined ? null : island.zero };
  };

  const readers = {
    float: (words) => Array.from(new Float32Array(words.buffer), (value) => (Number.isNaN(value) ? null : value)),
    uint: (words) => Array.from(new Uint32Array(words.buffer)),
    millis: (words, base) => summed(words, base, 1000),
    seconds: (words, base) => summed(words, base, 1),
  };

  /** Times in seconds since 1970 from int32 deltas. */
  function summed(words, base, perSecond) {
    if (base === undefined) return [];
    const times = [base / perSecond];
    let now = base;
    for (const delta of new Int32Array(words.buffer)) times.push((now += delta) / perSecond);
    return times;
  }

  function joinPlanes(bytes, offset, count) {
    const joined = new Uint8Array(4 * count);
    for (let plane = 0; plane < 4; plane++) {
      for (let i = 0; i < count; i++) joined[4 * i + plane] = bytes[offset + plane * count + i];
    }
    return joined;
  }

  async function gunzip(packed) {
    if (typeof DecompressionStream !== "function") return inflate(packed.subarray(10));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /* For browsers without DecompressionStream (before 2023): RFC 1951 in brief. The packer writes a ten-byte gzip header. */
  const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
  const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
  const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

  function inflate(input) {
    const reader = bitReader(input);
    const output = [];
    let last = false;
    while (!last) {
      last = reader.bits(1) === 1;
      const type = reader.bits(2);
      if (type === 0) copyStored(reader, output);
      else inflateBlock(reader, output, ...(type === 1 ? fixedTables() : dynamicTables(reader)));
    }
    return Uint8Array.from(output);
  }

  function bitReader(input) {
    let position = 0, held = 0, count = 0;
    return {
      bits(wanted) {
        while (count < wanted) { held |= input[position++] << count; count += 8; }
        const value = held & ((1 << wanted) - 1);
        held >>>= wanted;
        count -= wanted;
        return value;
      },
      bytes(wanted) { position -= count >> 3; held = count = 0; const from = position; position += wanted; return input.subarray(from, position); },
      align() { held = count = 0; },
    };
  }

  function copyStored(reader, output) {
    const [low, high] = reader.bytes(4);
    for (const byte of reader.bytes(low | (high << 8))) output.push(byte);
  }

  function huffman(lengths) {
    const counts = new Uint16Array(16), offsets = new Uint16Array(17), symbols = [];
    for (const length of lengths) counts[length]++;
    counts[0] = 0;
    for (let i = 1; i < 16; i++) offsets[i + 1] = offsets[i] + counts[i];
    lengths.forEach((length, symbol) => { if (length) symbols[offsets[length]++] = symbol; });
    return { counts, symbols };
  }

  function decode(reader, table) {
    let code = 0, first = 0, index = 0;
    for (let length = 1; length < 16; length++) {
      code |= reader.bits(1);
      const count = table.counts[length];
      if (code - count < first) return table.symbols[index + code - first];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new Error("damaged chart data");
  }

  function fixedTables() {
    const lengths = Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
    return [huffman(lengths), huffman(Array(30).fill(5))];
  }

  function dynamicTables(reader) {
    const literals = reader.bits(5) + 257, distances = reader.bits(5) + 1, codes = reader.bits(4) + 4;
    const codeLengths = Array(19).fill(0);
    for (let i = 0; i < codes; i++) codeLengths[CODE_ORDER[i]] = reader.bits(3);
    const table = huffman(codeLengths), lengths = [];
    while (lengths.length < literals + distances) {
      const symbol = decode(reader, table);
      if (symbol < 16) { lengths.push(symbol); continue; }
      const value = symbol === 16 ? lengths[lengths.length - 1] : 0;
      let repeat = symbol === 16 ? 3 + reader.bits(2) : symbol === 17 ? 3 + reader.bits(3) : 11 + reader.bits(7);
      while (repeat--) lengths.push(value);
    }
    return [huffman(lengths.slice(0, literals)), huffman(lengths.slice(literals))];
  }

  function inflateBlock(reader, output, literals, distances) {
    for (;;) {
      const symbol = decode(reader, literals);
      if (symbol === 256) return;
      if (symbol < 256) { output.push(symbol); continue; }
      let length = LENGTH_BASE[symbol - 257] + reader.bits(LENGTH_BITS[symbol - 257]);
      const code = decode(reader, distances);
      const distance = DISTANCE_BASE[code] + reader.bits(code < 2 ? 0 : (code >> 1) - 1);
      while (length--) output.push(output[output.length - distance]);
    }
  }
})((window.storscope = window.storscope || {}));
