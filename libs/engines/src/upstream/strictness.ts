import type { InferenceRequest } from '@sluice/canonical';
import { saysTooStrict } from '@sluice/formats';
import type { GenerationRun } from '../engine.ts';

/**
 * The same request with functions that are not strict, for a server that can't hold calls to their schemas: what it can
 * differs from maker to maker, and the client of another format was told of its own. Absent where that was not the reason.
 */
export function withoutStrictness(
  request: InferenceRequest,
  { clientFormat }: Pick<GenerationRun, 'clientFormat'>,
  dialect: string,
  refusal: string,
): InferenceRequest | undefined {
  if (clientFormat === undefined || clientFormat === dialect || !saysTooStrict(refusal)) return undefined;
  const { tools = [] } = request;
  if (!tools.some((tool) => tool.type === 'function' && tool.strict)) return undefined;
  return { ...request, tools: tools.map((tool) => (tool.type === 'function' ? loosened(tool) : tool)) };
}

function loosened<Tool extends { strict?: boolean }>({
  strict: _strict,
  ...tool
}: Tool): Omit<Tool, 'strict'> {
  return tool;
}
