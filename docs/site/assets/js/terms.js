// Terms of the glossary explain themselves to the mouse and to the keyboard. The definition is the link's title, which browsers show late,
// and never to the keyboard.
(() => {
  const terms = document.querySelectorAll("a.term[title]");
  if (!terms.length) return;
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  let shown = null;
  let leaving = 0;
  const hide = () => {
    clearTimeout(leaving);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    tip.hidden = true;
  };
  const hideSoon = () => { leaving = setTimeout(hide, 150); }; // so that the mouse can reach the definition
  const show = (term) => {
    hide();
    shown = term;
    term.setAttribute("aria-describedby", tip.id);
    tip.textContent = term.dataset.definition;
    tip.hidden = false;
    const box = term.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8));
    const above = box.top - tip.offsetHeight - 6;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 64 ? above : box.bottom + 6) + scrollY}px`;
  };
  for (const term of terms) {
    term.dataset.definition = term.title;
    term.removeAttribute("title");
    term.addEventListener("mouseenter", () => show(term));
    term.addEventListener("focus", () => show(term));
    term.addEventListener("mouseleave", hideSoon);
    term.addEventListener("blur", hide);
  }
  tip.addEventListener("mouseenter", () => clearTimeout(leaving));
  tip.addEventListener("mouseleave", hideSoon);
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
