import { isJsonObject, type Json } from '@sluice/canonical';

/** Resolves the references of a schema within it. */
export class References {
  private readonly root: Json;
  /** Cached: a reference may be as long as a body, in a definition that is read thousands of times. */
  private readonly targets = new Map<string, Json | undefined>();

  constructor(root: Json) {
    this.root = root;
  }

  /** The target of a JSON pointer; absent if it leads nowhere or outside the schema. */
  target(reference: string): Json | undefined {
    if (!this.targets.has(reference)) this.targets.set(reference, follow(reference, this.root));
    return this.targets.get(reference);
  }
}

function follow(reference: string, root: Json): Json | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let target: Json | undefined = root;
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    target = childOf(target, name) ?? childOf(target, decodeUrl(name));
    if (target === undefined) return undefined;
  }
  return target;
}

function childOf(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(name)];
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Unchanged if it is no part of a URL. */
function decodeUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
