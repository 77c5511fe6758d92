// Commands can be pasted: the button of a block of commands copies them without prompts and output, and
// prompts are not selected.
"use strict";

for (const code of document.querySelectorAll("code.language-console")) {
    const lines = code.textContent.split("\n");
    const isCommand = (line) => line.startsWith("$ ") || line.startsWith("> ");
    const commands = lines.filter(isCommand).map((line) => line.slice(2) + "\n").join("");
    code.textContent = "";
    for (const line of lines.slice(0, lines.at(-1) === "" ? -1 : undefined)) {
        if (isCommand(line)) {
            const prompt = document.createElement("span");
            prompt.className = "prompt";
            prompt.textContent = line.slice(0, 2);
            code.append(prompt, line.slice(2) + "\n");
        } else {
            code.append(line + "\n");
        }
    }
    // Before the button's own listener, which would copy all that is shown.
    code.parentElement.addEventListener("click", (event) => {
        if (commands !== "" && event.target.closest(".clip-button")) {
            event.stopPropagation();
            navigator.clipboard.writeText(commands);
        }
    }, true);
}
