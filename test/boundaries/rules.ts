/** What a project may depend on, by its tags. A project has one layer and one side; both must allow an edge. */
export interface Rules {
  readonly layers: Readonly<Record<string, readonly string[]>>;
  readonly sides: Readonly<Record<string, readonly string[]>>;
  /** External packages that production code with this tag must not use. */
  readonly banned: Readonly<Record<string, readonly string[]>>;
  /** Projects that are exempt from a ban, with the packages that they alone may use. */
  readonly exceptions: Readonly<Record<string, readonly string[]>>;
}

const everyLibrary = ['layer:base', 'layer:codec', 'layer:infra', 'layer:policy', 'layer:engine'];
const servers = ['fastify', 'bullmq', 'ioredis'];
const heavy = [...servers, 'prom-client', 'pino', 'node-llama-cpp'];

/**
 * ```
 * layer:app      ingress  worker  cli  loadtest        layer:local   deploy/local  deploy/redis
 * layer:policy   admission        layer:engine  engines
 * layer:infra    transport  tenancy  layer:codec  formats
 * layer:base     canonical  runtime  catalog  http     layer:testing (for tests of any layer)
 * ```
 */
export const rules: Rules = {
  layers: {
    'layer:base': ['layer:base'],
    'layer:codec': ['layer:base'],
    // Not on each other: transport and tenancy do not know each other.
    'layer:infra': ['layer:base'],
    'layer:policy': ['layer:base', 'layer:infra'],
    'layer:engine': ['layer:base', 'layer:codec'],
    'layer:app': everyLibrary,
    'layer:local': [...everyLibrary, 'layer:local'],
    'layer:testing': ['layer:base', 'layer:local'],
    'layer:test': [...everyLibrary, 'layer:local', 'layer:app'],
  },
  sides: {
    'side:shared': ['side:shared'],
    'side:ingress': ['side:ingress', 'side:shared'],
    'side:worker': ['side:worker', 'side:shared'],
    'side:client': ['side:shared'],
    'side:local': ['side:ingress', 'side:shared'],
    'side:test': ['side:ingress', 'side:worker', 'side:client', 'side:local', 'side:shared'],
  },
  banned: {
    'layer:base': heavy,
    'layer:codec': heavy,
    'layer:engine': servers,
    'layer:app': ['ioredis'],
    'side:ingress': ['node-llama-cpp'],
  },
  exceptions: { '@sluice/runtime': ['pino', 'prom-client'] },
};
