import type { InferenceRequest } from '@sluice/canonical';
import { isForeign, saysTooStrict } from '@sluice/formats';
import type { GenerationRun } from '../../engine.ts';

/**
 * The same request without strict functions, for a server that cannot enforce their schemas. Vendors differ in what
 * they can enforce, and a client of another format only knows its own vendor's rules. Absent if that was not the
 * reason.
 */
export function withoutStrictness(
  request: InferenceRequest,
  run: Pick<GenerationRun, 'clientFormat'>,
  dialect: string,
  refusal: string,
): InferenceRequest | undefined {
  if (!isForeign(run, dialect) || !saysTooStrict(refusal)) return undefined;
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
