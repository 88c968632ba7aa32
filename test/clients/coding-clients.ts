/** What a coding client is told about the gateway and its task. */
export interface Assignment {
  baseUrl: string;
  apiKey: string;
  model: string;
  prompt: string;
}

export const dialects = ['openai', 'anthropic', 'gemini'] as const;
export type Dialect = (typeof dialects)[number];

/** A coding client as a user installs it, in print mode. */
export interface CodingClient {
  /** Its package. */
  name: string;
  /** The format that it speaks. */
  format: Dialect;
  /** Its program in `node_modules/.bin`. */
  program: string;
  arguments(assignment: Assignment): string[];
  /** Its whole environment beside PATH and HOME. */
  environment(assignment: Assignment): Record<string, string>;
  /** Its settings by path; `~/` is its home, anything else stands in the folder that it works in. */
  files(assignment: Assignment): Record<string, object>;
}

/** One client for each format. */
export const codingClients: readonly CodingClient[] = [
  {
    name: '@anthropic-ai/claude-code',
    format: 'anthropic',
    program: 'claude',
    arguments: ({ prompt }) => ['--print', prompt, '--allowedTools', 'Write'],
    environment: ({ baseUrl, apiKey, model }) => ({
      ANTHROPIC_BASE_URL: baseUrl,
      ANTHROPIC_AUTH_TOKEN: apiKey,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    files: () => ({}),
  },
  {
    name: '@google/gemini-cli',
    format: 'gemini',
    program: 'gemini',
    arguments: ({ prompt, model }) => ['--model', model, '--approval-mode', 'yolo', '--prompt', prompt],
    environment: ({ baseUrl, apiKey }) => ({
      GOOGLE_GEMINI_BASE_URL: baseUrl,
      GEMINI_API_KEY: apiKey,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    }),
    // Without this setting it takes the address for a gateway with a login of its own, which print mode refuses.
    files: () => ({
      '~/.gemini/settings.json': {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      },
    }),
  },
  {
    name: 'opencode-ai',
    format: 'openai',
    program: 'opencode',
    arguments: ({ prompt, model }) => ['run', '--model', `sluice/${model}`, prompt],
    environment: () => ({}),
    files: ({ baseUrl, apiKey, model }) => ({
      'opencode.json': {
        provider: {
          sluice: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${baseUrl}/v1`, apiKey },
            models: { [model]: {} },
          },
        },
      },
    }),
  },
];
