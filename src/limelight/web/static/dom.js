// Elements made of names and plain strings: nothing is ever read as markup.

export const element = (tag, properties = {}, ...inside) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && !name.startsWith("aria") && name !== "list" && name !== "form") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...inside.filter((own) => own !== null && own !== undefined));
  return made;
};

// A number with a real minus sign; nothing where there is none.
export const fixed = (value, digits) => (value === null ? "" : value.toFixed(digits).replace("-", "−"));

// What may be wider than the page, and scrolls by itself.
export const region = (name, ...inside) => element("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": name }, ...inside);

export const table = (name, heads, lines) =>
  region(
    name,
    element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, ...lines))
  );

export const line = ([first, ...rest]) => element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((cell) => element("td", {}, cell)));

const SVG = "http://www.w3.org/2000/svg";

export const drawing = (tag, attributes = {}, ...inside) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...inside);
  return made;
};

// Custom properties go through the style object: the page's policy knows no inline styles.
export const withVariables = (made, variables) => {
  for (const [name, value] of Object.entries(variables)) made.style.setProperty(`--${name}`, String(value));
  return made;
};

let counter = 0;
export const freshId = () => `own-${(counter += 1)}`;

// A label with its control.
export const labelled = (text, control, hint) => {
  control.id = control.id || freshId();
  const made = element("div", { class: "field" }, element("label", { htmlFor: control.id }, text), control);
  if (hint) {
    const said = element("small", { class: "quiet", id: freshId() }, hint);
    control.setAttribute("aria-describedby", said.id);
    made.append(said);
  }
  return made;
};

export const chooser = (options, chosen, onchange) => {
  const made = element("select", { onchange: () => onchange(made.value) });
  for (const [value, shown] of options) {
    made.append(element("option", { value, selected: value === chosen }, shown));
  }
  made.value = chosen;
  return made;
};

export const announce = (sentence) => {
  document.getElementById("status").textContent = sentence;
};
