import { type FunctionTool, type InferenceRequest, SluiceError } from '@sluice/canonical';
import type { Directive } from './directive.ts';

/**
 * The tools to call now, in order; none means an answer in text. A named tool and `required` are obeyed at once. With
 * `auto`, the model calls what the directive names, and answers in text once it has results.
 */
export function chooseTools(
  request: InferenceRequest,
  directive: Directive | undefined,
  endsWithToolResult: boolean,
): FunctionTool[] {
  const choice = request.toolChoice ?? { type: 'auto' };
  if (choice.type === 'none') return [];
  if (choice.type === 'tool') return [toolNamed(request, choice.name)];
  if (choice.type === 'auto' && endsWithToolResult) return [];
  // Once called, a tool need not be declared again: an agent that a conversation was handed over to has its own tools.
  const wanted = (directive?.tools ?? []).flatMap((name) =>
    endsWithToolResult ? (findTool(request, name) ?? []) : toolNamed(request, name),
  );
  const allowed = choice.allowed && new Set(choice.allowed);
  const permitted = (tool: FunctionTool) => allowed?.has(tool.name) ?? true;
  const chosen = wanted.filter(permitted);
  if (choice.type === 'required' && chosen.length === 0) {
    const first = functionTools(request).find(permitted);
    if (!first)
      throw new SluiceError('invalid-request', 'a call is required, but no function tool may be called');
    chosen.push(first);
  }
  return request.parallelToolCalls === false ? chosen.slice(0, 1) : chosen;
}

function functionTools(request: InferenceRequest): FunctionTool[] {
  return (request.tools ?? []).filter((tool) => tool.type === 'function');
}

function findTool(request: InferenceRequest, name: string): FunctionTool | undefined {
  return functionTools(request).find((tool) => tool.name === name);
}

function toolNamed(request: InferenceRequest, name: string): FunctionTool {
  const tool = findTool(request, name);
  if (!tool)
    throw new SluiceError('invalid-request', 'the tool to call is not among the declared function tools');
  return tool;
}
