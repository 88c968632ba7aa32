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
  processes: RunningProcess[];
}

/** A process of the installation. Supervisors serve nobody: they start others again. */
export interface RunningProcess {
  role: 'supervisor' | 'redis' | 'ingress' | 'worker';
  /** To tell several of a role apart, as `worker 2`. The supervisor of all is called `start`. */
  name: string;
  pid: number;
}

/** What people read: the address, a call in each format that can be pasted, and how to stop. */
export function formatForPeople(announcement: Announcement): string {
  const { baseUrls, apiKey, models } = announcement;
  const [baseUrl = ''] = baseUrls;
  // Who brought a model of their own wants to hear that one.
  const model = models.find((name) => name !== simulatedModel) ?? simulatedModel;
  const others = baseUrls.length > 1 ? ` (and ${baseUrls.slice(1).join(', ')})` : '';
  return `
Sluice serves ${models.join(', ')} at ${baseUrl}${others}
Key: ${apiKey}

OpenAI format, streaming:

curl -N ${baseUrl}/v1/chat/completions \\
  -H 'authorization: Bearer ${apiKey}' -H 'content-type: application/json' \\
  -d '{"model": "${model}", "stream": true, "messages": [{"role": "user", "content": "Tell me a story."}]}'

Anthropic format, streaming:

curl -N ${baseUrl}/v1/messages \\
  -H 'x-api-key: ${apiKey}' -H 'anthropic-version: 2023-06-01' -H 'content-type: application/json' \\
  -d '{"model": "${model}", "max_tokens": 200, "stream": true, "messages": [{"role": "user", "content": "Tell me a story."}]}'

Google format, one body:

curl ${baseUrl}/v1beta/models/${encodeURIComponent(model)}:generateContent \\
  -H 'x-goog-api-key: ${apiKey}' -H 'content-type: application/json' \\
  -d '{"contents": [{"role": "user", "parts": [{"text": "Tell me a story."}]}]}'

Ctrl-C stops everything.
`;
}

/** What a machine reads: one line. */
export function formatForMachines(announcement: Announcement): string {
  return `${JSON.stringify(announcement)}\n`;
}
