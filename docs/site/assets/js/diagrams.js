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
    flowchart: { nodeSpacing: 32, rankSpacing: 32, wrappingWidth: 240,
      subGraphTitleMargin: { top: 4, bottom: 16 } } });
  await mermaid.run({ nodes: diagrams });
  for (const diagram of diagrams) {
    const image = diagram.querySelector("svg");
    const width = parseFloat(image?.style.maxWidth);
    if (!width) continue;
    // Shrunk by more than this, it could not be read, so it scrolls. If it scrolls on a phone anyway, it may as well be larger.
    const phone = diagram.clientWidth < 600;
    const least = !phone ? 0.54 : width * 0.66 <= diagram.clientWidth ? 0.66 : 0.75;
    image.style.minWidth = `${Math.round(width * least)}px`;
    diagram.tabIndex = 0;
  }
});
