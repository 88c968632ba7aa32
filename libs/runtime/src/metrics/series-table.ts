interface Branch<Series> {
  series: Series | undefined;
  readonly next: Map<string, Branch<Series>>;
}

/**
 * The series of one metric by the values of their labels. It looks up one value after the other: they are known strings,
 * whose hash is known, too, while a joined key would have to be built and hashed each time.
 */
export class SeriesTable<Series> {
  private readonly names: readonly string[];
  private readonly create: (labels: Readonly<Record<string, string>>) => Series;
  private readonly root: Branch<Series> = newBranch();
  private readonly created: Series[] = [];

  /** `create` makes a series that is new. */
  constructor(names: readonly string[], create: (labels: Readonly<Record<string, string>>) => Series) {
    this.names = names;
    this.create = create;
  }

  /** The series of these labels. Every label must be given, in any order. */
  of(labels: Readonly<Record<string, string>>): Series {
    let branch = this.root;
    for (const name of this.names) {
      const value = labels[name] ?? '';
      let next = branch.next.get(value);
      if (!next) {
        next = newBranch();
        branch.next.set(value, next);
      }
      branch = next;
    }
    branch.series ??= this.add(labels);
    return branch.series;
  }

  /** All series, in the order in which they were first asked for. */
  all(): readonly Series[] {
    return this.created;
  }

  clear(): void {
    this.root.next.clear();
    this.root.series = undefined;
    this.created.length = 0;
  }

  private add(labels: Readonly<Record<string, string>>): Series {
    const series = this.create(labels);
    this.created.push(series);
    return series;
  }
}

function newBranch<Series>(): Branch<Series> {
  return { series: undefined, next: new Map() };
}
