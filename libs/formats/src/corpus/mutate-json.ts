import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { canary, oddNames, oddValues } from './oddities.ts';
import type { Random } from './random.ts';

type Step = string | number;

/** A copy of the value with one to three things wrong with it. */
export function mutateJson(value: Json, random: Random): Json {
  let mutated = value;
  for (let count = 1 + random.below(3); count > 0; count -= 1) {
    const places = placesOf(mutated);
    mutated = replaceAt(mutated, random.pick(places), (node) => spoil(node, random));
  }
  return mutated;
}

/** Every place in a value; the empty path is the whole value. */
function placesOf(value: Json): Step[][] {
  const places: Step[][] = [[]];
  const visit = (node: Json, path: Step[]) => {
    if (path.length > 24) return;
    const children: [Step, Json][] = Array.isArray(node)
      ? node.map((child, index) => [index, child])
      : Object.entries(isJsonObject(node) ? node : {});
    for (const [step, child] of children.slice(0, 50)) {
      places.push([...path, step]);
      visit(child, [...path, step]);
    }
  };
  visit(value, []);
  return places;
}

function replaceAt(value: Json, path: readonly Step[], change: (node: Json) => Json): Json {
  const [step, ...rest] = path;
  if (step === undefined) return change(value);
  if (Array.isArray(value)) {
    return value.map((child, index) => (index === step ? replaceAt(child, rest, change) : child));
  }
  if (!isJsonObject(value)) return value;
  return fromEntries(
    Object.entries(value).map(([name, child]) => [
      name,
      name === step ? replaceAt(child, rest, change) : child,
    ]),
  );
}

/** Builds an object as `JSON.parse` does: `__proto__` is a field like any other. */
function fromEntries(entries: readonly (readonly [string, Json])[]): JsonObject {
  return Object.fromEntries(entries);
}

function spoil(node: Json, random: Random): Json {
  const ways: ((target: Json) => Json)[] = [
    () => random.pick(oddValues),
    () => random.pick(oddValues),
    (target) => [target],
    (target) => ({ value: target }),
    (target) => JSON.stringify(target),
    (target) => [target, target],
  ];
  if (Array.isArray(node)) {
    ways.push(
      (target) => (Array.isArray(target) ? target.slice(1) : target),
      (target) => (Array.isArray(target) ? [...target, random.pick(oddValues)] : target),
      (target) => (Array.isArray(target) ? target.toReversed() : target),
      (target) => (Array.isArray(target) ? Array.from({ length: 40 }, () => target).flat() : target),
    );
  }
  if (isJsonObject(node)) ways.push(...spoilObject(node, random));
  if (typeof node === 'string') {
    ways.push(
      () => `${node}${canary}`,
      () => node.toUpperCase(),
      () => node.slice(0, random.below(node.length + 1)),
      () => `${node}\ud83d`,
    );
  }
  if (typeof node === 'number')
    ways.push(
      () => -node,
      () => node * 1e300,
      () => node + 0.5,
      () => String(node),
    );
  return random.pick(ways)(node);
}

function spoilObject(node: JsonObject, random: Random): ((target: Json) => Json)[] {
  const entries = Object.entries(node);
  const [chosen] = entries.length === 0 ? [] : [random.pick(entries)[0]];
  return [
    () => fromEntries(entries.filter(([name]) => name !== chosen)),
    () =>
      fromEntries(entries.map(([name, child]) => [name === chosen ? random.pick(oddNames) : name, child])),
    () => fromEntries([...entries, [random.pick(oddNames), random.pick(oddValues)]]),
    () => fromEntries([...entries, ['__proto__', { polluted: true, type: 'text', text: canary }]]),
    () => fromEntries(entries.map(([name, child]) => [name === chosen ? name.toUpperCase() : name, child])),
    () => fromEntries(entries.toReversed()),
  ];
}
