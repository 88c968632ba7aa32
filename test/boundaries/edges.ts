import type { Project } from './project.ts';
import type { Rules } from './rules.ts';

/** One sentence for every edge between projects, and for every external package, that the rules forbid. */
export function findForbiddenEdges(projects: readonly Project[], rules: Rules): string[] {
  const byName = new Map(projects.map((project) => [project.name, project]));
  return projects.flatMap((project) => [
    ...findMisplacedTags(project, rules),
    ...project.projects.flatMap((name) => {
      const target = byName.get(name);
      return target ? judgeEdge(project, target, rules) : [];
    }),
    ...findBannedPackages(project, rules),
  ]);
}

function judgeEdge(source: Project, target: Project, rules: Rules): string[] {
  const edge = `${source.name} → ${target.name}`;
  if (target.tags.includes('layer:testing')) {
    const isTest = source.tags.includes('layer:test');
    const isProduction = source.dependencies.includes(target.name) && !isTest;
    return isProduction ? [`${edge}: production code must not use what is for tests`] : [];
  }
  return [
    ...judgeTag(edge, tagOf(source, 'layer:'), tagOf(target, 'layer:'), rules.layers),
    ...judgeTag(edge, tagOf(source, 'side:'), tagOf(target, 'side:'), rules.sides),
  ];
}

function judgeTag(edge: string, source: string, target: string, table: Rules['layers']): string[] {
  return table[source]?.includes(target) ? [] : [`${edge}: ${source} may not depend on ${target}`];
}

function findMisplacedTags(project: Project, rules: Rules): string[] {
  const tables = [
    ['layer:', rules.layers],
    ['side:', rules.sides],
  ] as const;
  return tables.flatMap(([kind, table]) => {
    const own = project.tags.filter((tag) => tag.startsWith(kind));
    const isKnown = own.length === 1 && own.every((tag) => tag in table);
    return isKnown ? [] : [`${project.name} must have one known ${kind} tag, has ${own.join(' ') || 'none'}`];
  });
}

function findBannedPackages(project: Project, rules: Rules): string[] {
  const excepted = rules.exceptions[project.name] ?? [];
  return project.tags.flatMap((tag) =>
    (rules.banned[tag] ?? [])
      .filter((name) => project.dependencies.includes(name) && !excepted.includes(name))
      .map((name) => `${project.name} → ${name}: banned for ${tag}`),
  );
}

function tagOf(project: Project, kind: string): string {
  return project.tags.find((tag) => tag.startsWith(kind)) ?? 'no tag';
}
