import {
  assertNever,
  extend,
  type InferenceRequest,
  isJsonObject,
  type Json,
  type JsonObject,
  type Message,
  type Tool,
  type ToolChoice,
} from '@sluice/canonical';
import { allowedNames } from '../../calls/allowed-tools.ts';
import { MISSING } from '../../json/first-mistake.ts';
import { placed } from '../../places.ts';
import { type Encoding, ownFields, ownValue } from '../encoding.ts';
import { customTool, FORMAT, invalid, parseWire, toolChoice as toolChoiceBody } from '../wire.ts';

/** The tools of a request. */
export interface DecodedTools {
  tools: Tool[];
  /** Tools that the model must not see until it has found them; kept for servers that can search. */
  deferred: Json[];
}

/**
 * Reads the tools. Those with a schema are functions. The server's own tools stay opaque, so that only such a server
 * runs them. `found`: the names of tools whose loading is over, since a search has found them.
 */
export function decodeTools(wire: readonly Json[], found: ReadonlySet<string>): DecodedTools {
  const decoded: DecodedTools = { tools: [], deferred: [] };
  for (const [index, value] of wire.entries()) {
    const path = `tools[${index}]`;
    if (!isJsonObject(value)) throw invalid(path, 'must be an object');
    const { type } = value;
    const isCustom = type === undefined || type === null || type === 'custom';
    if (!isCustom && typeof type !== 'string') throw invalid(`${path}.type`, 'must be a string');
    if (!isCustom) decoded.tools.push(placed({ type: 'opaque', format: FORMAT, value }, path));
    else if (value.defer_loading === true && !isFound(value, found)) decoded.deferred.push(value);
    else decoded.tools.push(decodeCustomTool(value, path));
  }
  return decoded;
}

function isFound({ name }: JsonObject, found: ReadonlySet<string>): boolean {
  return typeof name === 'string' && found.has(name);
}

function decodeCustomTool(value: JsonObject, path: string): Tool {
  const { known, rest } = parseWire(customTool, value, path);
  return {
    type: 'function',
    name: known.name,
    ...(known.description !== undefined && { description: known.description }),
    parameters: known.input_schema,
    ...(known.strict !== undefined && { strict: known.strict }),
    ...extend(FORMAT, rest),
  };
}

/**
 * The tools that the choice allows; this dialect can only choose one tool or all. `accepted` converts a schema to what
 * the model accepts.
 */
export function encodeTools(
  { tools = [], toolChoice }: Pick<InferenceRequest, 'tools' | 'toolChoice'>,
  deferred: Json | undefined,
  encoding: Encoding,
  accepted: (schema: JsonObject, isStrict: boolean) => JsonObject,
): Json[] {
  const allowed = allowedNames(toolChoice);
  const encoded: Json[] = [];
  for (const [index, tool] of tools.entries()) {
    if (tool.type === 'opaque') encoded.push(ownValue(tool, `tools[${index}]`));
    else if (allowed === undefined || allowed.has(tool.name)) {
      const { name, description, parameters, strict } = tool;
      // The dialect demands the type. The caller's key order is kept, because models read the schema as text.
      const schema = parameters.type === undefined ? { type: 'object', ...parameters } : parameters;
      encoded.push({
        name,
        ...(description !== undefined && { description }),
        input_schema: accepted(schema, strict === true),
        ...(strict !== undefined && { strict }),
        ...ownFields(tool, encoding),
      });
    }
  }
  return Array.isArray(deferred) ? [...encoded, ...deferred] : encoded;
}

/**
 * The tools that a conversation called, for models that refuse its calls if no tools are declared. Their names are all
 * that is known of them.
 */
export function calledTools(messages: readonly Message[]): JsonObject[] {
  const names = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.content) if (part.type === 'tool-call') names.add(part.name);
  }
  return Array.from(names, (name) => ({ name, input_schema: { type: 'object' } }));
}

/** How the client steers the use of tools. */
export type ToolSteering = Pick<InferenceRequest, 'toolChoice' | 'parallelToolCalls'>;

/** Reads `tool_choice`, which also says whether calls may be parallel. */
export function decodeToolChoice(wire: JsonObject | undefined): ToolSteering {
  if (wire === undefined) return {};
  const { known } = parseWire(toolChoiceBody, wire, 'tool_choice');
  const disabled = known.disable_parallel_tool_use;
  return {
    toolChoice: choiceOf(known.type, known.name),
    ...(disabled !== undefined && { parallelToolCalls: !disabled }),
  };
}

function choiceOf(type: 'auto' | 'any' | 'tool' | 'none', name: string | undefined): ToolChoice {
  if (type === 'any') return { type: 'required' };
  if (type !== 'tool') return { type };
  if (name === undefined) throw invalid('tool_choice.name', MISSING);
  return { type, name };
}

/** `tool_choice` for a server; absent if the client asked for nothing. */
export function encodeToolChoice({ toolChoice, parallelToolCalls }: ToolSteering): JsonObject | undefined {
  if (toolChoice === undefined && parallelToolCalls === undefined) return undefined;
  const choice = toolChoice ?? { type: 'auto' };
  const parallel = parallelToolCalls === undefined ? {} : { disable_parallel_tool_use: !parallelToolCalls };
  switch (choice.type) {
    case 'none':
      return { type: 'none' };
    case 'auto':
      return { type: 'auto', ...parallel };
    case 'required':
      return { type: 'any', ...parallel };
    case 'tool':
      return { type: 'tool', name: choice.name, ...parallel };
    default:
      return assertNever(choice);
  }
}
