// A model is a tree of modules, as in Python. A module has arrays, submodules and settings.

"use strict";

// {name of the Python class: class}, to which each file adds its classes
const KINDS = {};

// A module with the same fields as its Python class.
class Module {
  constructor(fields) {
    Object.assign(this, fields);
  }
}

// Build the module with this dotted name, and its submodules.
//
// parts: {dotted name: {kind, fields: {field: {array: name}, {part: name}, {parts: [names]} or
// {value}}}}; arrays: {dotted name: vector or Matrix}. A shared module is built once.
function build(name, parts, arrays, built = new Map()) {
  if (built.has(name)) return built.get(name);
  const { kind, fields } = parts[name];
  if (!Object.hasOwn(KINDS, kind)) throw new Error(`${kind}: this page cannot run such a part`);
  const values = {};
  for (const [field, is] of Object.entries(fields)) {
    if ("array" in is) values[field] = arrays[is.array];
    else if ("part" in is) values[field] = build(is.part, parts, arrays, built);
    else if ("parts" in is) values[field] = is.parts.map((one) => build(one, parts, arrays, built));
    else values[field] = is.value;
  }
  const module = new KINDS[kind](values);
  built.set(name, module);
  return module;
}
