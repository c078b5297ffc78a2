// What a pane asks: its text and model with the settings of the page, as far as this model takes them.

export const modelOf = (site, own) => site.models.find((model) => model.name === own.model) ?? site.models[0];

// The settings that this model takes, and a sentence for each that it does not.
const suited = (model, settings) => {
  const labels = model.labels.map((label) => label.name), notes = [];
  const known = (name) => name !== null && labels.includes(name);
  const target = known(settings.target) ? settings.target : null;
  if (settings.target !== target) notes.push("This model does not have the label that was chosen: what it predicts is explained.");
  const against = target !== null && known(settings.against) && settings.against !== target ? settings.against : null;
  if (target !== null && settings.against !== against) notes.push("This model does not have the second label: the first is explained alone.");
  const output = model.outputs.includes(settings.output) ? settings.output : null;
  if (settings.output !== output) notes.push("This model does not have the output that was chosen: its usual one is explained.");
  const able = settings.methods?.filter((id) => model.methods.includes(id)) ?? null;
  const methods = able?.length ? [...able] : null;
  if (settings.methods && methods === null) notes.push("None of the chosen methods is for this model: its usual ones are asked.");
  return { target, against, output, methods, notes };
};

export class Questions {
  // `site`: models, methods and the run of the server. `own`: model, texts and removed words of one pane.
  constructor(site, own, settings) {
    Object.assign(this, { site, own, settings });
  }

  get model() {
    return modelOf(this.site, this.own);
  }

  get notes() {
    return suited(this.model, this.settings).notes;
  }

  prediction() {
    const { own, model } = this;
    return { server: this.site.server, model: model.name, text: model.pairs ? [own.text, own.second] : own.text };
  }

  text() {
    return { ...this.prediction(), features: this.settings.features };
  }

  #quantity() {
    const { target, against, output } = suited(this.model, this.settings);
    return { ...this.text(), removal: this.settings.removal, output, target, against };
  }

  rows() {
    const { settings } = this;
    const drawn = settings.samples === null ? { until: "stable", samples: null } : { until: null, samples: settings.samples };
    return { ...this.#quantity(), methods: suited(this.model, settings).methods, seed: settings.seed, ...drawn };
  }

  // The method that colours follow while one types, if it is quick enough; null where there is none.
  live() {
    const chosen = this.settings.colour, { model, settings } = this;
    const method = this.site.methods.find((one) => one.id === chosen);
    const isQuick = method && model.live && model.methods.includes(chosen) && !method.ways.some((way) => way.sampled);
    const id = isQuick ? chosen : settings.removal === "attention" ? null : model.live;
    return id === null ? null : { ...this.#quantity(), methods: [id], seed: settings.seed };
  }

  removed(names) {
    const valid = this.own.removed.filter((j) => j < names.length);
    return valid.length ? { ...this.#quantity(), removed: valid } : null;
  }

  curve(orders) {
    return { ...this.#quantity(), orders, seed: this.settings.seed };
  }
}
