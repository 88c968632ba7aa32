import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from '../support/repository.ts';

/** One of our packages, as its manifest and the Nx graph show it. */
export interface Project {
  readonly name: string;
  /** From the repository's root, as `libs/formats`. */
  readonly root: string;
  readonly tags: readonly string[];
  /** Names of the projects that it depends on, in production code or tests. */
  readonly projects: readonly string[];
  /** Names of all packages that production code may import. */
  readonly dependencies: readonly string[];
  /** Names of all packages that its tests may import in addition. */
  readonly devDependencies: readonly string[];
}

interface Graph {
  graph: {
    nodes: Record<string, { data: { root: string; tags?: string[] } }>;
    dependencies: Record<string, { target: string }[]>;
  };
}

/** Asks Nx for all projects and what they depend on. */
export async function readProjects(): Promise<Project[]> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-graph-'));
  try {
    const file = join(folder, 'graph.json');
    // Without a daemon and a cache, so that the answer is about the files as they are now.
    await promisify(execFile)(
      process.execPath,
      [join(repository, 'node_modules/nx/dist/bin/nx.js'), 'graph', `--file=${file}`],
      {
        cwd: repository,
        env: { ...process.env, NX_DAEMON: 'false', NX_CACHE_PROJECT_GRAPH: 'false', NX_TUI: 'false' },
      },
    );
    const { graph }: Graph = JSON.parse(await readFile(file, 'utf8'));
    return Promise.all(Object.keys(graph.nodes).map((name) => readProject(name, graph)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function readProject(name: string, graph: Graph['graph']): Promise<Project> {
  const { root = '', tags = [] } = graph.nodes[name]?.data ?? {};
  const manifest: { dependencies?: object; devDependencies?: object } = JSON.parse(
    await readFile(join(repository, root, 'package.json'), 'utf8'),
  );
  return {
    name,
    root,
    tags,
    projects: (graph.dependencies[name] ?? []).map(({ target }) => target).filter((it) => it in graph.nodes),
    dependencies: Object.keys(manifest.dependencies ?? {}),
    devDependencies: Object.keys(manifest.devDependencies ?? {}),
  };
}
