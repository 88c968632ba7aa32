import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseCatalog } from '@sluice/catalog';
import { cliEnvironment } from '@sluice/cli';
import { ingressEnvironment } from '@sluice/ingress';
import { describeEnvironment, describeMetrics } from '@sluice/runtime';
import { workerEnvironment } from '@sluice/worker';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { writeLiterals } from './literals.ts';
import { type Manifest, manifestFiles, readManifests } from './manifests.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const manifests = readManifests(manifestFiles());
const kustomization = parse(readFileSync(join(root, 'deploy/kustomization.yaml'), 'utf8'));
const dockerfile = readFileSync(join(root, 'deploy/docker/Dockerfile'), 'utf8');

interface Workload {
  selector: { matchLabels: object };
  template: {
    metadata: { labels: object; annotations?: Record<string, string> };
    spec: {
      terminationGracePeriodSeconds?: number;
      shareProcessNamespace?: boolean;
      securityContext?: object;
      topologySpreadConstraints?: { labelSelector: object }[];
      enableServiceLinks?: boolean;
      containers: [Container];
      volumes?: { name: string; configMap: { name: string } }[];
    };
  };
}
interface Probe {
  exec?: { command: string[] };
  terminationGracePeriodSeconds?: number;
}
interface Container {
  image: string;
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string } } }[];
  ports: { name: string; containerPort: number }[];
  lifecycle?: { preStop: { sleep: { seconds: number } } };
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  securityContext?: object;
  resources: { limits: { memory: string } };
  volumeMounts: { name: string; mountPath: string }[];
}

const specOf = <Spec>(kind: string, name: string): Spec => {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  expect(found, `${kind} ${name}`).toBeDefined();
  return found?.value.spec as Spec;
};
const workload = (name: string) => specOf<Workload>(name === 'redis' ? 'StatefulSet' : 'Deployment', name);
const container = (name: string) => workload(name).template.spec.containers[0];
const complaintsAbout = (written: readonly Manifest[]): string => {
  // Below the packages, so that their types are found.
  const cache = join(root, 'node_modules/.cache/sluice');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'manifests-'));
  const file = join(folder, 'manifests.ts');
  writeFileSync(file, writeLiterals(written));
  const flags = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--types',
    '',
  ];
  try {
    execFileSync(join(root, 'node_modules/.bin/tsc'), [...flags, file], { cwd: folder, encoding: 'utf8' });
    return '';
  } catch (thrown) {
    return String((thrown as { stdout?: unknown }).stdout ?? thrown);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

describe('the manifests', () => {
  it('use only fields that the cluster knows', () => {
    expect(manifests.length).toBeGreaterThan(10);
    expect(complaintsAbout(manifests)).toBe('');
    const misspelt = manifests.map((manifest) =>
      manifest.kind === 'Service' ? { ...manifest, value: { ...manifest.value, spek: {} } } : manifest,
    );
    expect(complaintsAbout(misspelt)).toMatch(/'"spek"' does not exist/);
  });

  it('are all in the kustomization, except those that need more than Kubernetes', () => {
    const optional = ['kubernetes/autoscaling.yaml', 'kubernetes/podmonitors.yaml'];
    const all = manifestFiles().map((file) => `kubernetes/${file}`);
    expect([...kustomization.resources, ...optional].sort()).toEqual(all.sort());
    const generated = kustomization.configMapGenerator.flatMap(({ files }: { files: string[] }) => files);
    for (const file of generated) {
      expect(existsSync(join(root, 'deploy', file.split('=').at(-1) ?? ''))).toBe(true);
    }
  });

  it.each(['ingress', 'worker', 'cli', 'redis'])('find the pods of %s by their labels', (name) => {
    const { selector, template } = workload(name);
    expect(template.metadata.labels).toEqual(selector.matchLabels);
    for (const kind of ['Service', 'PodDisruptionBudget', 'NetworkPolicy']) {
      const manifest = manifests.find((each) => each.kind === kind && each.metadata.name === name);
      const spec = manifest?.value.spec as { selector?: object; podSelector?: object } | undefined;
      if (!spec) continue;
      const labels = kind === 'Service' ? spec.selector : (spec.selector ?? spec.podSelector);
      expect(kind === 'Service' ? { matchLabels: labels } : labels).toEqual(selector);
    }
  });

  it.each(['ingress', 'worker', 'cli'])('run %s from an image that the kustomization names', (name) => {
    expect(container(name).image).toBe(`sluice-${name}`);
    expect(kustomization.images.map((image: { name: string }) => image.name)).toContain(`sluice-${name}`);
  });

  it('mount only maps that are made, and read the settings from where they are', () => {
    const made = kustomization.configMapGenerator.map(({ name }: { name: string }) => name);
    for (const name of ['ingress', 'worker', 'redis']) {
      for (const volume of workload(name).template.spec.volumes ?? []) {
        expect(made).toContain(volume.configMap.name);
        expect(container(name).volumeMounts.map((mount) => mount.name)).toContain(volume.name);
      }
    }
    expect(() =>
      parseCatalog(parse(readFileSync(join(root, 'deploy/kubernetes/settings.yaml'), 'utf8'))),
    ).not.toThrow();
  });
});

describe('the processes in the manifests', () => {
  const known = {
    ingress: describeEnvironment(ingressEnvironment),
    worker: describeEnvironment(workerEnvironment),
    cli: describeEnvironment(cliEnvironment),
  };
  const drainMs = (name: 'ingress' | 'worker') =>
    Number(known[name].find((setting) => setting.name === 'SLUICE_DRAIN_LIMIT_MS')?.defaultValue);

  it.each(['ingress', 'worker', 'cli'] as const)(
    'give %s only settings that it knows, and all that it needs',
    (name) => {
      const names = container(name).env.map((variable) => variable.name);
      expect(known[name].map((setting) => setting.name)).toEqual(expect.arrayContaining(names));
      const needed = known[name].filter((setting) => setting.isRequired).map((setting) => setting.name);
      expect(names).toEqual(expect.arrayContaining(needed));
    },
  );

  it.each(['ingress', 'worker'] as const)('listen in %s where the image does', (name) => {
    const ports = new Map(container(name).ports.map((port) => [port.name, port.containerPort]));
    expect(dockerfile).toContain(`SLUICE_OPS_PORT=${ports.get('ops')}`);
    if (name === 'ingress') expect(dockerfile).toContain(`SLUICE_PORT=${ports.get('http')}`);
    expect(workload(name).template.metadata.annotations).toMatchObject({
      'prometheus.io/port': String(ports.get('ops')),
    });
  });

  it.each(['ingress', 'worker'] as const)('leave %s the time to drain', (name) => {
    const { terminationGracePeriodSeconds = 30, containers } = workload(name).template.spec;
    const pauseMs = (containers[0].lifecycle?.preStop.sleep.seconds ?? 0) * 1000;
    // What the supervisors give a process after its drain, and some more.
    expect(terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(pauseMs + drainMs(name) + 10_000);
  });

  it.each(['ingress', 'worker'])('wait for no drain of %s where it hangs', (name) => {
    const { livenessProbe, lifecycle } = container(name);
    const pauseSeconds = lifecycle?.preStop.sleep.seconds ?? 0;
    expect(livenessProbe.terminationGracePeriodSeconds).toBeGreaterThan(pauseSeconds);
    expect(livenessProbe.terminationGracePeriodSeconds).toBeLessThan(20);
  });

  it.each(['ingress', 'worker', 'cli'])('let no service of the namespace set a variable of %s', (name) => {
    expect(workload(name).template.spec.enableServiceLinks).toBe(false);
  });

  it.each(['ingress', 'worker', 'cli', 'redis'])(
    'keep %s to the restricted Pod Security Standard',
    (name) => {
      const { spec } = workload(name).template;
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(spec.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    },
  );

  it.each(['ingress', 'worker'])('put no two of %s on one node while another is free', (name) => {
    const { selector, template } = workload(name);
    const [constraint] = template.spec.topologySpreadConstraints ?? [];
    expect(constraint).toMatchObject({ topologyKey: 'kubernetes.io/hostname', labelSelector: selector });
  });

  it.each(['ingress', 'worker'] as const)('let %s hear SIGTERM from its first moment on', (name) => {
    expect(workload(name).template.spec.shareProcessNamespace).toBe(true);
  });

  it('take Redis for ready when it has read its log back, and for alive meanwhile', () => {
    const command = (name: 'startupProbe' | 'livenessProbe' | 'readinessProbe') =>
      container('redis')[name].exec?.command;
    // Without -e the program ends well whatever Redis says, as LOADING.
    expect(command('startupProbe')).toEqual(['redis-cli', '-e', 'ping']);
    expect(command('readinessProbe')).toEqual(['redis-cli', '-e', 'ping']);
    expect(command('livenessProbe')).toEqual(['redis-cli', 'ping']);
  });

  it('give Redis twice the memory that its data may take', () => {
    const redis = readFileSync(join(root, 'deploy/redis/redis.conf'), 'utf8');
    expect(redis).toMatch(/^maxmemory 1gb$/m);
    expect(container('redis').resources.limits.memory).toBe('2Gi');
  });

  it('have in every Prometheus the jobs that the alerts ask for', () => {
    const asked = readFileSync(join(root, 'deploy/prometheus/alerts.yml'), 'utf8').matchAll(/job="([^"]+)"/g);
    const jobs = [...new Set([...asked].map(([, job]) => job))].sort();
    const { scrape_configs: scraped } = parse(
      readFileSync(join(root, 'deploy/prometheus/prometheus.yml'), 'utf8'),
    );
    expect(scraped.map((each: { job_name: string }) => each.job_name).sort()).toEqual(jobs);
    interface Monitor {
      podMetricsEndpoints: [{ relabelings: [{ sourceLabels: string[]; replacement: string }] }];
    }
    const [{ relabelings }] = specOf<Monitor>('PodMonitor', 'sluice').podMetricsEndpoints;
    expect(relabelings[0].sourceLabels).toEqual(['__meta_kubernetes_pod_label_app_kubernetes_io_name']);
    const named = ['ingress', 'worker'].map((name) => relabelings[0].replacement.replace('$1', name));
    expect(named).toEqual(jobs);
  });

  it('scale workers by metrics that there are, below the slots that there are', () => {
    interface Scaling {
      scaleTargetRef: { name: string };
      triggers: [{ metadata: { query: string; threshold: string; ignoreNullValues: string } }];
    }
    const { scaleTargetRef, triggers } = specOf<Scaling>('ScaledObject', 'worker');
    expect(workload(scaleTargetRef.name)).toBeDefined();
    const { query, threshold, ignoreNullValues } = triggers[0].metadata;
    const metrics = describeMetrics().map((metric) => metric.name);
    const named = [...query.matchAll(/sluice_\w+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(0);
    expect(metrics).toEqual(expect.arrayContaining(named));
    // Where all workers are missing, what waits must call for some; where nothing is known, none must be taken away.
    expect(query).toMatch(
      /^\(sum\(sluice_slots_busy\{[^}]*\}\) or vector\(0\)\) \+ max\(sluice_queue_depth\{[^}]*\}\)$/,
    );
    expect(ignoreNullValues).toBe('false');
    const settings = parse(readFileSync(join(root, 'deploy/kubernetes/settings.yaml'), 'utf8'));
    for (const [, pool] of query.matchAll(/pool="(\w+)"/g)) {
      expect(settings.pools[pool ?? ''].backend.slots).toBeGreaterThan(Number(threshold));
    }
  });
});
