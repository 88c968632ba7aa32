import {
  type FunctionTool,
  type InferenceRequest,
  isJsonObject,
  type Json,
  SluiceError,
} from '@sluice/canonical';
import { mostCalls } from '../most-calls.ts';
import { Effort, type GrammarPlan, planGrammar } from './grammar-schema.ts';
import type { Functions } from './library.ts';

/** What the model may call in one answer. */
export interface Calls {
  /** Absent if it may call nothing. */
  functions?: Functions;
  /** The answer has to begin with a call. */
  isForced: boolean;
  most: number;
  /** The arguments of a call in the form that its tool's schema demands. */
  read(name: string, generated: Json): Json;
}

/**
 * The tools that a request offers, according to its tool choice. Throws `invalid-request` for a choice that leaves no
 * tool to call, and for a name that no call could be written with.
 */
export function planCalls(request: InferenceRequest): Calls {
  const choice = request.toolChoice ?? { type: 'auto' };
  const isForced = choice.type === 'required' || choice.type === 'tool';
  const tools = (request.tools ?? []).filter((tool) => tool.type === 'function');
  const allowed = 'allowed' in choice && choice.allowed ? new Set(choice.allowed) : undefined;
  const offered = tools.filter(({ name }) => {
    if (choice.type === 'none') return false;
    return choice.type === 'tool' ? name === choice.name : (allowed?.has(name) ?? true);
  });
  if (offered.length === 0) {
    if (isForced) throw new SluiceError('invalid-request', 'a call is required, but no tool may be called');
    return { isForced: false, most: 0, read: (_name, generated) => generated };
  }
  const odd = offered.find(({ name }) => name === '' || /[ \t\n\0]/.test(name) || !name.isWellFormed());
  if (odd) {
    throw new SluiceError(
      'invalid-request',
      `the model cannot call a tool named ${JSON.stringify(odd.name)}`,
    );
  }
  const effort = new Effort();
  const plans = new Map(offered.map((tool) => [tool.name, planGrammar(tool.parameters, true, effort)]));
  return {
    functions: Object.fromEntries(offered.map((tool) => [tool.name, declare(tool, plans.get(tool.name))])),
    isForced,
    most: request.parallelToolCalls === false ? 1 : mostCalls,
    read: (name, generated) => plans.get(name)?.read(generated) ?? generated,
  };
}

function declare(tool: FunctionTool, plan: GrammarPlan | undefined): Functions[string] {
  return {
    ...(tool.description !== undefined && { description: tool.description }),
    ...(plan && takesArguments(tool) && { params: plan.schema }),
  };
}

const plainKeywords: ReadonlySet<string> = new Set(['type', 'description', 'title', 'required', '$schema']);

/** False for an object about which the schema says nothing but that it is one. */
function takesArguments({ parameters }: FunctionTool): boolean {
  const { properties = {}, additionalProperties = false, ...rest } = parameters;
  const isSilent = Object.keys(rest).every((keyword) => plainKeywords.has(keyword));
  return (
    !isSilent ||
    additionalProperties !== false ||
    !isJsonObject(properties) ||
    Object.keys(properties).length > 0
  );
}
