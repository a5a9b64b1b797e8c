// The search. Its index and its program are read when somebody begins to search.
(() => {
  const field = document.getElementById("query");
  const found = document.getElementById("found");
  if (!field || !found) return;
  const status = found.querySelector("[role=status]");
  const list = found.querySelector("ul");
  const words = (text) => text.toLocaleLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  // IgnoreNotFound is found by its parts, too.
  const parts = (text) => text.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2");
  const most = 12;

  const load = (address) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = resolve;
    script.onerror = () => reject(new Error(address));
    document.head.append(script);
  });
  let reading = null;
  const read = () => reading ??= (async () => {
    const [answer] = await Promise.all([
      fetch(document.getElementById("search-index").href),
      load(document.getElementById("search-program").href),
    ]);
    const entries = await answer.json();
    const index = () => new FlexSearch.Index({ tokenize: "forward", encode: words });
    const titles = index();
    const texts = index();
    entries.forEach(({ page, section, text }, i) => {
      titles.add(i, parts(`${page} ${section}`) + ` ${page} ${section}`);
      texts.add(i, `${text} ${parts(text)}`);
    });
    return { entries, titles, texts };
  })();

  // marked puts what was asked for in bold.
  const marked = (element, text, query) => {
    const pattern = query.map((word) => word.replace(/[^\p{L}\p{N}]/gu, "\\$&")).join("|");
    for (const [i, piece] of text.split(new RegExp(`(${pattern})`, "giu")).entries()) {
      if (i % 2 === 0) {
        element.append(piece);
        continue;
      }
      const mark = document.createElement("mark");
      mark.textContent = piece;
      element.append(mark);
    }
    return element;
  };
  // around returns the part of a text in which it says the first word that it has.
  const around = (text, query) => {
    const lower = text.toLocaleLowerCase();
    const at = Math.min(...query.map((word) => lower.indexOf(word)).filter((position) => position >= 0));
    if (!Number.isFinite(at) || at < 60) return text.slice(0, 160);
    return `…${text.slice(text.indexOf(" ", at - 50) + 1, at + 110)}`;
  };
  const element = (name, className) => Object.assign(document.createElement(name), { className });
  const item = ({ address, page, section, text }, query) => {
    const li = document.createElement("li");
    const a = document.createElement("a");
    a.href = new URL(address, document.getElementById("home").href).href;
    a.append(marked(element("strong", ""), section || page, query));
    if (section) a.append(element("small", "page"), " ");
    if (section) a.querySelector("small").textContent = page;
    a.append(marked(element("span", "says"), around(text, query), query));
    li.append(a);
    return li;
  };

  let asked = 0;
  const search = async () => {
    const query = words(field.value);
    const turn = ++asked;
    if (!query.length) {
      found.hidden = true;
      return;
    }
    try {
      const { entries, titles, texts } = await read();
      if (turn !== asked) return; // The reader has typed on.
      const line = query.join(" ");
      const hits = [...new Set([...titles.search(line, { limit: most }), ...texts.search(line, { limit: most })])].slice(0, most);
      list.replaceChildren(...hits.map((i) => item(entries[i], query)));
      status.textContent = { 0: field.dataset.none, 1: field.dataset.one }[hits.length] ?? field.dataset.many.replace("{n}", hits.length);
    } catch {
      list.replaceChildren();
      status.textContent = field.dataset.failed;
      reading = null;
    }
    list.dataset.answers = field.value;
    found.hidden = false;
  };
  const leave = () => {
    asked++; // What is still being looked for is not shown.
    found.hidden = true;
  };
  // step moves through the field and the links below it.
  const step = (by) => {
    const stops = [field, ...list.querySelectorAll("a")];
    stops[Math.max(0, Math.min(stops.length - 1, stops.indexOf(document.activeElement) + by))].focus();
  };

  field.addEventListener("focus", () => { read().catch(() => { reading = null; }); }, { once: true });
  field.addEventListener("input", search);
  field.addEventListener("focus", () => { if (field.value) search(); });
  field.closest("search").addEventListener("keydown", (event) => {
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves && !found.hidden) {
      event.preventDefault();
      step(moves[event.key]);
    } else if (event.key === "Enter" && event.target === field) {
      list.querySelector("a")?.click();
    } else if (event.key === "Escape") {
      field.focus();
      leave();
    }
  });
  addEventListener("pointerdown", (event) => { if (!event.target.closest("search")) leave(); });
  addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (event.key === "/" || (event.key === "k" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      field.focus();
    }
  });
})();
