interface Pattern<Target> {
  prefix: string;
  suffix: string;
  target: Target;
}

const maxRemembered = 1_000;
/** The longest name that the settings allow, so that patterns are not tried on a megabyte. */
const maxNameLength = 200;

/** Resolves a name: exact ids first, then exact aliases, then patterns with one `*`, longest literal part first. */
export class NameResolver<Target> {
  private readonly exact: ReadonlyMap<string, Target>;
  private readonly patterns: readonly Pattern<Target>[];
  private readonly remembered = new Map<string, Target | undefined>();

  /** In an alias, `*` stands for any text, including none. */
  constructor(ids: ReadonlyMap<string, Target>, aliases: ReadonlyMap<string, Target>) {
    const exact = new Map<string, Target>();
    const patterns: Pattern<Target>[] = [];
    for (const [name, target] of aliases) {
      const [prefix = '', suffix] = name.split('*');
      if (suffix === undefined) exact.set(name, target);
      else patterns.push({ prefix, suffix, target });
    }
    for (const [id, target] of ids) exact.set(id, target);
    this.exact = exact;
    this.patterns = patterns.sort((left, right) => literalLength(right) - literalLength(left));
  }

  /** Absent when nothing has this name. */
  resolve(name: string): Target | undefined {
    const known = this.exact.get(name);
    if (known !== undefined) return known;
    if (name.length > maxNameLength) return undefined;
    if (this.remembered.has(name)) return this.remembered.get(name);
    const target = this.patterns.find((pattern) => matches(pattern, name))?.target;
    // Clients choose the names, so the oldest is forgotten before they can fill the memory.
    if (this.remembered.size >= maxRemembered) this.forgetOldest();
    this.remembered.set(name, target);
    return target;
  }

  private forgetOldest(): void {
    for (const oldest of this.remembered.keys()) {
      this.remembered.delete(oldest);
      return;
    }
  }
}

function literalLength({ prefix, suffix }: Pattern<unknown>): number {
  return prefix.length + suffix.length;
}

function matches({ prefix, suffix }: Pattern<unknown>, name: string): boolean {
  return name.length >= prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix);
}
