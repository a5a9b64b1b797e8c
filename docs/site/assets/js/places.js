// Where the reader is: the section in the list beside the text, and the page in the contents, which scrolls to it.
(() => {
  const current = document.querySelector(".contents [aria-current]");
  if (current) {
    const contents = current.closest(".contents");
    contents.scrollTop = current.offsetTop - contents.clientHeight / 3;
  }
  const links = new Map();
  for (const link of document.querySelectorAll(".toc a")) {
    const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (heading) links.set(heading, link);
  }
  if (!links.size) return;
  let marked = null;
  const mark = () => {
    let last = null;
    for (const [heading, link] of links) {
      if (heading.getBoundingClientRect().top > innerHeight / 3) break;
      last = link;
    }
    if (last === marked) return;
    marked?.removeAttribute("aria-current");
    last?.setAttribute("aria-current", "true");
    marked = last;
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  mark();
})();
