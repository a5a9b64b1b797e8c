// Diagrams. They are drawn in light colors, and the style sheet inverts them in the dark, so they need not be drawn again when the reader
// changes that, or prints.
const colors = {
  primaryColor: "#eaf1fe", primaryBorderColor: "#7c9fe0", primaryTextColor: "#1c2430", secondaryColor: "#f6f8fa", tertiaryColor: "#f6f8fa",
  lineColor: "#55606d", textColor: "#1c2430", edgeLabelBackground: "#ffffff", clusterBkg: "#f6f8fa", clusterBorder: "#c3ccd6",
  noteBkgColor: "#fff7d6", noteBorderColor: "#d9c26a",
};

addEventListener("DOMContentLoaded", async () => {
  const diagrams = [...document.querySelectorAll("pre.mermaid")];
  mermaid.initialize({ startOnLoad: false, theme: "base", themeVariables: colors, fontFamily: "system-ui, sans-serif",
    flowchart: { nodeSpacing: 32, rankSpacing: 32 } });
  await mermaid.run({ nodes: diagrams });
  for (const diagram of diagrams) {
    const image = diagram.querySelector("svg");
    const width = parseFloat(image?.style.maxWidth);
    if (!width) continue;
    // Shrunk by more than this, nobody could read it, so it scrolls. On a phone it scrolls anyway, and may as well be larger.
    const least = diagram.clientWidth < 600 ? 0.75 : 0.54;
    image.style.minWidth = `${Math.round(width * least)}px`;
    diagram.tabIndex = 0;
  }
});
