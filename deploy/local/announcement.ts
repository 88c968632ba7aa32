const simulatedModel = 'sim';

/** Everything a client needs to know of a running installation. */
export interface Announcement {
  /** One per ingress. */
  baseUrls: string[];
  /** One per ingress and worker. */
  metricsUrls: string[];
  apiKey: string;
  models: string[];
  redisUrl: string;
  /** The environment that `npx sluice` needs. What the user gave to `npm start`, which may be secret, is in files. */
  cliEnvironment: Readonly<Record<string, string>>;
  processes: RunningProcess[];
}

/** A process of the installation. A supervisor serves no requests: it restarts its processes. */
export interface RunningProcess {
  role: 'supervisor' | 'redis' | 'ingress' | 'worker';
  /** Tells several of one role apart, as `worker 2`. The supervisor of all is called `start`. */
  name: string;
  pid: number;
}

/**
 * What people read: the address, a call in each format and the operator's commands, all ready to paste, and how to
 * stop.
 */
export function formatForPeople(announcement: Announcement): string {
  const { baseUrls, metricsUrls, apiKey, models, cliEnvironment } = announcement;
  const [baseUrl = ''] = baseUrls;
  // Users who brought a model of their own want the examples to call that one.
  const model = models.find((name) => name !== simulatedModel) ?? simulatedModel;
  const question = 'Tell me a story.';
  const messages = [{ role: 'user', content: question }];
  return `
Sluice serves ${models.join(', ')} at ${firstOf(baseUrls)}
Reference: ${baseUrl}/docs/
Metrics: ${firstOf(metricsUrls)}
Key: ${apiKey}

OpenAI format, streaming:

curl -N ${baseUrl}/v1/chat/completions \\
  -H 'authorization: Bearer ${apiKey}' -H 'content-type: application/json' \\
  -d ${quoted({ model, stream: true, messages })}

Anthropic format, streaming:

curl -N ${baseUrl}/v1/messages \\
  -H 'x-api-key: ${apiKey}' -H 'anthropic-version: 2023-06-01' -H 'content-type: application/json' \\
  -d ${quoted({ model, max_tokens: 200, stream: true, messages })}

Google format, one body:

curl ${baseUrl}/v1beta/models/${pathStep(model)}:generateContent \\
  -H 'x-goog-api-key: ${apiKey}' -H 'content-type: application/json' \\
  -d ${quoted({ contents: [{ role: 'user', parts: [{ text: question }] }] })}

Keys and limits, in another terminal in this folder:

${exported(cliEnvironment)}npx sluice limits set --tenant local request-rate=600/1m
npx sluice --help

Ctrl-C stops everything.
`;
}

function firstOf([first, ...others]: readonly string[]): string {
  return others.length === 0 ? `${first}` : `${first} (and ${others.join(', ')})`;
}

/** JSON, quoted as one word of a shell. */
function quoted(body: object): string {
  return word(JSON.stringify(body));
}

function word(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A shell line that sets the variables; empty if there are none. */
function exported(variables: Readonly<Record<string, string>>): string {
  const words = Object.entries(variables).map(([name, value]) => ` ${name}=${word(value)}`);
  return words.length === 0 ? '' : `export${words.join('')}\n`;
}

/** A path segment of a URL, escaped so that a shell finds nothing special in it. */
function pathStep(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}

/** What a machine reads: one line. */
export function formatForMachines(announcement: Announcement): string {
  return `${JSON.stringify(announcement)}\n`;
}
