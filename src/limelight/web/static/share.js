// A comparison to keep: as a file, as a link, and as the commands that give the same numbers.

import { file } from "./api.js";
import { announce, element } from "./dom.js";

const FORMATS = ["html", "json", "csv", "png", "svg"];

const saved = (blob, name) => {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

const copied = async (text, button) => {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy it yourself";
  }
  announce(button.textContent);
  setTimeout(() => { button.textContent = before; }, 2000);
};

const code = (title) => {
  const body = element("pre", { tabIndex: 0, role: "region", "aria-label": title }, element("code", {}));
  const button = element("button", { type: "button", onclick: () => copied(body.textContent, button) }, "Copy");
  return { body, root: element("div", { class: "recipe" }, element("h3", {}, title), body, button) };
};

export const sharing = (pane) => {
  const trouble = element("p", { class: "warning", hidden: true, role: "alert" });
  const buttons = FORMATS.map((format) =>
    element("button", {
      type: "button",
      class: "export",
      onclick: async () => {
        const kept = pane.comparison();
        if (!kept) return;
        const { comparison, about } = kept;
        try {
          trouble.hidden = true;
          saved(await file("/export", { comparison, format, about }), `limelight.${format}`);
          announce(`Saved as ${format}.`);
        } catch (error) {
          trouble.hidden = false;
          trouble.textContent = error.message;
        }
      },
    }, format.toUpperCase())
  );
  buttons.forEach((button, i) => { button.dataset.format = FORMATS[i]; });
  const link = element("button", { type: "button", class: "link", onclick: () => copied(pane.address(), link) }, "Copy a link to this view");
  const python = code("The same numbers in Python"), command = code("The same numbers on the command line");
  const recipes = element("div", {}, python.root, command.root);
  const root = element(
    "details",
    { class: "share" },
    element("summary", {}, "Share and keep"),
    element("p", {}, link, element("span", { class: "quiet" }, " The link holds the text itself, behind the #: it is never sent to a server.")),
    element("p", { class: "exports" }, "Save as ", ...buttons),
    trouble,
    recipes
  );
  const show = (recipe) => {
    python.body.firstChild.textContent = recipe.python;
    command.body.firstChild.textContent = recipe.command;
  };
  return { root, recipes, show, clear: () => show({ python: "", command: "" }) };
};
