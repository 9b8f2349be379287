// Draws the report from the data in the page. Values become text nodes and attributes only, so that
// no value can become markup. Without this script the page shows the terminal's summary.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  const node = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  // The prose of this report: paragraphs, lists, **strong**, *emphasis* and `code`.
  const inline = (text) =>
    text.split(/(\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`)/).map((part) => {
      const mark = /^(\*\*|\*|`)(.*)\1$/s.exec(part);
      return mark ? node({ "**": "b", "*": "em", "`": "code" }[mark[1]], {}, mark[2]) : part;
    });
  const prose = (text) =>
    text.trim().split(/\n\n+/).filter(Boolean).map((block) =>
      block.startsWith("- ")
        ? node("ul", {}, ...block.slice(2).split(/\n- /)
            .map((item) => node("li", {}, ...inline(item))))
        : node("p", {}, ...inline(block)));

  // A table without the columns that are empty in every line. A line of one cell is a heading.
  const grid = (head, lines) => {
    const cells = lines.filter((line) => line.length > 1);
    const used = [...head.keys()].filter((at) => cells.some((line) => line[at]));
    if (!used.length) return node("p", {}, lines.flat().join(" "));
    const number = /^[\d.,]+ ?\S{0,3}( (to|of) [\d.,]+ ?\S{0,3}| \(over\))?$/;
    const cell = (text, at) =>
      at === 0
        ? node("th", { scope: "row" }, text)
        : node("td", { class: number.test(text) ? "n" : "" }, text);
    const group = (text) => {
      const title = node("th", { scope: "colgroup", colspan: used.length }, text);
      return node("tr", { class: "group" }, title);
    };
    const row = (line) => {
      if (line.length === 1) return group(line[0]);
      const cells = used.map((at) => cell(line[at] ?? "", at));
      if (line.span) {
        cells.splice(2);
        cells[1].setAttribute("colspan", used.length - 1);
      }
      if (line.bar) cells[1].setAttribute("style", `--share:${(100 * line.bar).toFixed(1)}%`);
      if (line.bar) cells[1].classList.add("bar");
      return node("tr", line.leads ? { class: "leads" } : {}, ...cells);
    };
    const titles = used.map((at) => {
      const numbers = at > 0 && cells.some((line) => number.test(line[at]));
      return node("th", { scope: "col", class: numbers ? "n" : "" }, head[at]);
    });
    const top = node("thead", {}, node("tr", {}, ...titles));
    const table = node("table", {}, top, node("tbody", {}, ...lines.map(row)));
    const label = head.filter(Boolean).join(", ");
    const attributes = { class: "scroll", tabindex: 0, role: "region", "aria-label": label };
    return node("div", attributes, table);
  };

  // Some columns of a table's stores; nothing if none of them was measured.
  const rowsOf = data.tables.map(() => []);
  for (const [table, cells, leads, spread, seconds] of data.rows)
    rowsOf[table].push({ cells, leads, spread, seconds });
  const part = (table, from, to) => {
    const measured = rowsOf[table].filter((row) => row.spread);
    const lines = measured.map(({ cells }) => [cells[0], ...cells.slice(from, to)]);
    return lines.some((line) => line.slice(1).some(Boolean))
      ? [grid([data.head[0], ...data.head.slice(from, to)], lines)]
      : [];
  };
  const rates = (table) => {
    const most = Math.max(...rowsOf[table].map((row) => row.spread?.[1] ?? 0));
    const lines = rowsOf[table].map(({ cells, leads, spread }) => {
      const line = spread ? cells.slice(0, data.costs) : [cells[0], `${cells[1]}: ${cells[2]}`];
      return Object.assign(line, { leads, span: !spread, bar: spread && spread[1] / most });
    });
    return grid(data.head.slice(0, data.costs), lines);
  };

  // Operations in each second, from zero to the highest second.
  const strip = ({ cells, seconds }) => {
    const most = Math.max(...seconds, 1);
    const steps = seconds.map((count, at) => `L${at} ${36 - (34 * count) / most}h1`).join("");
    const space = "http://www.w3.org/2000/svg";
    const drawing = document.createElementNS(space, "svg");
    const path = document.createElementNS(space, "path");
    drawing.setAttribute("viewBox", `0 0 ${seconds.length} 36`);
    drawing.setAttribute("preserveAspectRatio", "none");
    path.setAttribute("d", `M0 36${steps}V36Z`);
    drawing.append(path);
    const caption = node("figcaption", {}, `${cells[0]}: ${cells.at(-1)}`);
    return node("figure", { class: "strip" }, caption, drawing);
  };

  const detail = (at) => {
    const table = data.tables[at];
    const unit = table.unit === "time" ? "time, less is better" : table.unit;
    return [
      node("p", {}, `${table.heading}: ${table.about || table.label} (${unit})`),
      rates(at),
      node("p", {}, table.notes.join(" ")),
      ...part(at, data.costs, data.percentiles),
      ...part(at, data.percentiles, data.head.length),
      ...rowsOf[at].filter((row) => row.seconds.length).map(strip),
    ];
  };

  const chart = () => {
    const times = data.peers.map((peer) => peer.times);
    const low = Math.min(1, ...times);
    const high = Math.max(2, ...times);
    const place = (value) => (100 * Math.log(value / low)) / Math.log(high / low);
    const bar = ({ title, times, text, rows }) => {
      const [from, to] = [Math.min(times, 1), Math.max(times, 1)].map(place);
      const percent = (number) => `${number.toFixed(2)}%`;
      const style = `--from:${percent(from)};--to:${percent(to)};--one:${percent(place(1))}`;
      return node("li", { class: times < 1 ? "behind" : "ahead" },
        node("span", { class: "name" }, title),
        node("span", { class: "track", style, "aria-hidden": "true" }, node("i", {})),
        node("b", {}, text),
        node("small", {}, rows === 1 ? "1 row" : `${rows} rows`));
    };
    const bars = node("ol", {}, ...data.peers.map(bar));
    const caption =
      "CairnDB's rate over that of each of its best five peers: " +
      "geometric mean of the rows that rank both. The line is 1x; log scale.";
    return node("figure", { class: "chart" }, bars, node("figcaption", {}, caption));
  };

  const MARKS = { ahead: "\u25b2", tie: "\u2248", behind: "\u25bc" };
  const line = (at) => {
    const { label, about, ours, best, ratio, peer, standing } = data.tables[at];
    const below = node("tr", { id: `row${at}`, class: "detail", hidden: "" });
    const state = { "aria-expanded": "false", "aria-controls": `row${at}`, title: about };
    const button = node("button", state, label);
    button.addEventListener("click", () => {
      if (!below.firstChild) below.append(node("td", { colspan: 5 }, ...detail(at)));
      below.hidden = !below.hidden;
      button.setAttribute("aria-expanded", String(!below.hidden));
    });
    const named = { role: "img", "aria-label": standing };
    const mark = standing ? node("span", named, MARKS[standing]) : "";
    return [
      node("tr", { class: standing ?? "" },
        node("th", { scope: "row" }, button),
        node("td", { class: "n" }, ours),
        node("td", { class: "n best", "data-peer": peer }, best),
        node("td", { class: "n ratio" }, ratio, " ", mark),
        node("td", { class: "peer" }, peer)),
      below,
    ];
  };
  const rows = () => {
    const head = ["Row", "CairnDB", "best peer", "ratio", "peer"];
    const classes = ["", "n", "n", "n", "peer"];
    const titles = head.map((title, at) => node("th", { scope: "col", class: classes[at] }, title));
    const caption =
      "Operations per second; times for events (open, compact). \u25b2 ahead of every ranked peer " +
      "in every round, \u2248 tie, \u25bc behind. Open a row for all stores.";
    const top = node("thead", {}, node("tr", {}, ...titles));
    const table = node("table", { class: "rows" }, node("caption", {}, caption), top);
    let chapter = null;
    data.tables.forEach((one, at) => {
      if (!rowsOf[at].length) return;
      if (one.chapter !== chapter) {
        chapter = one.chapter;
        const title = node("th", { scope: "colgroup", colspan: 5 }, chapter);
        table.append(node("tbody", {}, node("tr", { class: "group" }, title)));
      }
      table.lastChild.append(...line(at));
    });
    return table;
  };

  // A part that is drawn when it is opened, or printed.
  const folds = [];
  const fold = (title, draw) => {
    const made = node("details", {}, node("summary", {}, node("h2", {}, title)));
    const fill = () => made.children.length > 1 || made.append(...draw());
    made.addEventListener("toggle", fill);
    folds.push(fill);
    return made;
  };
  addEventListener("beforeprint", () => {
    folds.forEach((fill) => fill());
    for (const made of document.querySelectorAll("details")) made.open = true;
  });
  const each = (text, from, to) => () => [
    ...prose(text),
    ...data.tables.flatMap(({ label }, at) => {
      const own = part(at, from, to);
      return own.length ? [node("h3", {}, label), ...own] : [];
    }),
  ];

  const sheets = data.sheets.map(({ title, prose: text, head, lines }) =>
    fold(title, () => [...prose(text), ...(lines.length ? [grid(head, lines)] : [])]));
  const notes = () => {
    const texts = [...data.warnings, data.remarks].filter(Boolean);
    if (!texts.length) return [];
    const count = texts.length === 1 ? "1 note" : `${texts.length} notes`;
    const items = texts.map((text) => node("li", {}, text));
    const summary = node("summary", {}, `${count}: ${texts[0]}`);
    return [node("details", { class: "notes" }, summary, node("ul", {}, ...items))];
  };
  const none = data.tables.length
    ? "Nothing in this report can be compared."
    : "There are no results in this report.";
  const main = document.querySelector("main");
  const shown = [
    node("p", { class: "verdict" }, data.verdict || none),
    ...(data.peers.length ? [chart()] : []),
    ...notes(),
    ...(data.tables.length ? [rows()] : []),
    ...data.origin.map((text) => node("p", { class: "about" }, text)),
    ...sheets.slice(0, 2),
    fold("Costs: CPU, memory, disk, writes", each(data.prose[0], data.costs, data.percentiles)),
    fold("Latency", each(data.prose[1], data.percentiles, data.head.length)),
    ...sheets.slice(2),
  ];
  main.replaceChildren(main.querySelector("h1"), ...shown);
})();
