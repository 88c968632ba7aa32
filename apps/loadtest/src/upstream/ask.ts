import type { IncomingMessage } from 'node:http';
import type { FormatName } from '../dialects/dialect.ts';
import { dig, digCount, digText } from '../dialects/dig.ts';

/** A request as the fake upstream understands it. */
export interface UpstreamAsk {
  format: FormatName;
  model: string;
  isStream: boolean;
  /** Absent means the request set no limit. */
  maxTokens: number | undefined;
  inputTokens: number;
  includesUsage: boolean;
}

const bytesPerToken = 4;

/** Understands a call of any format; undefined for an unknown path or a body that is not JSON. */
export function readAsk(path: string, body: string): UpstreamAsk | undefined {
  const value = parse(body);
  if (value === undefined) return undefined;
  const inputTokens = Math.ceil(body.length / bytesPerToken);
  const route = path.split('?')[0] ?? '';
  const action = /\/models\/(.+):(streamGenerateContent|generateContent)$/.exec(route);
  if (action) {
    return {
      format: 'gemini',
      model: decodeURIComponent(action[1] ?? ''),
      isStream: action[2] === 'streamGenerateContent',
      maxTokens: digCount(value, 'generationConfig', 'maxOutputTokens'),
      inputTokens,
      includesUsage: true,
    };
  }
  const isChat = route.endsWith('/chat/completions');
  if (!isChat && !route.endsWith('/messages')) return undefined;
  return {
    format: isChat ? 'openai' : 'anthropic',
    model: digText(value, 'model') ?? '',
    isStream: dig(value, 'stream') === true,
    maxTokens: digCount(value, 'max_completion_tokens') ?? digCount(value, 'max_tokens'),
    inputTokens,
    includesUsage: dig(value, 'stream_options', 'include_usage') === true,
  };
}

/** The whole body as text. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
