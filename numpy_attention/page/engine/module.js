// A model is a tree of parts, as in Python: a part has arrays, further parts, and settings.

"use strict";

// kind → class; each file below adds its own, by the name that the Python class has
const KINDS = {};

// A part with the fields of its Python class: arrays, parts and settings by the same names.
class Module {
  constructor(fields) {
    Object.assign(this, fields);
  }
}

// The part of this dotted name, and those within it.
//
// parts: {dotted name: {kind, fields: {field: {array: name}, {part: name}, {parts: [names]} or
// {value}}}}; arrays: {dotted name: vector or Matrix}. A part that two others share is made once.
function partOf(name, parts, arrays, made = new Map()) {
  if (made.has(name)) return made.get(name);
  const { kind, fields } = parts[name];
  if (!Object.hasOwn(KINDS, kind)) throw new Error(`${kind}: this page cannot run such a part`);
  const own = {};
  for (const [field, is] of Object.entries(fields)) {
    if ("array" in is) own[field] = arrays[is.array];
    else if ("part" in is) own[field] = partOf(is.part, parts, arrays, made);
    else if ("parts" in is) own[field] = is.parts.map((one) => partOf(one, parts, arrays, made));
    else own[field] = is.value;
  }
  const part = new KINDS[kind](own);
  made.set(name, part);
  return part;
}
