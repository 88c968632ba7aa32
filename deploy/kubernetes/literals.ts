import type { Manifest } from './manifests.ts';

/** The package of types for each group of an API; absent means one of Kubernetes' own. */
const packages: Readonly<Record<string, string>> = {
  'keda.sh': '@kubernetes-models/keda/',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator/',
};

/**
 * TypeScript in which each manifest is a literal of its type. The compiler then finds every field that the API does not
 * know, which a cluster would drop without a word.
 */
export function writeLiterals(manifests: readonly Manifest[]): string {
  return manifests
    .map(({ apiVersion, kind, value }, index) => {
      const from = `${packages[apiVersion.split('/')[0] ?? ''] ?? 'kubernetes-models/'}${apiVersion}/${kind}`;
      return [
        `import type { I${kind} as Type${index} } from '${from}';`,
        `export const manifest${index}: Type${index} = ${JSON.stringify(value, undefined, 2)};`,
      ].join('\n');
    })
    .join('\n');
}
