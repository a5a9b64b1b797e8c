// The buttons that copy a command. Without a clipboard (on an address that is neither local nor encrypted) they stay hidden.
(() => {
  // typed returns what the reader would type: no prompt, which the style sheet draws, and no comment.
  const typed = (command) => {
    const code = command.querySelector("code").cloneNode(true);
    for (const aside of code.querySelectorAll(".aside")) aside.remove();
    return code.textContent;
  };
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button.copy")) {
    const words = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(typed(button.closest(".command")));
      } catch {
        return; // The browser refuses; what it says about that is for the reader, and the text can still be selected.
      }
      button.textContent = button.dataset.copied;
      setTimeout(() => { button.textContent = words; }, 1500);
    });
  }
})();
