// Dark or light: as the reader has chosen here, or else as the system is set. The class is for style sheets that can't ask for the color
// scheme. This runs before the page is painted.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("color-theme");
    } catch {
      return null; // Storage is blocked.
    }
  };
  const show = () => {
    const dark = (chosen() ?? (system.matches ? "dark" : "light")) === "dark";
    root.classList.toggle("dark", dark);
    root.style.colorScheme = dark ? "dark" : "light";
  };
  show();
  system.addEventListener("change", show);
  addEventListener("storage", show);
  addEventListener("DOMContentLoaded", () => {
    document.querySelector("button.shade")?.addEventListener("click", () => {
      try {
        localStorage.setItem("color-theme", root.classList.contains("dark") ? "light" : "dark");
      } catch {
        root.classList.toggle("dark");
      }
      show();
    });
  });
})();
