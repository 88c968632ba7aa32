import {
  extend,
  type FormatId,
  type FunctionTool,
  isJsonObject,
  type Json,
  type JsonObject,
  type Tool,
  type ToolChoice,
} from '@sluice/canonical';
import { keptFields } from '../../json/kept-fields.ts';
import { placed } from '../../places.ts';
import { ownFields, ownNested, ownValue } from '../foreign.ts';
import {
  allowedTools,
  anyTool,
  FORMAT,
  functionDefinition,
  invalid,
  namedChoice,
  parseWire,
  readWire,
} from '../wire.ts';

/** Decodes functions. A tool of another type is kept as it is, for servers of this dialect. */
export function decodeTools(tools: readonly unknown[], path: string): Tool[] {
  return tools.map((tool, index) => {
    const at = `${path}[${index}]`;
    const { known, kept } = readWire(anyTool, tool, at);
    if (known.type != null && known.type !== 'function') {
      // Safe to cast: the schema has accepted it as an object.
      return placed({ type: 'opaque', format: FORMAT, value: keptFields(tool as JsonObject) }, at);
    }
    return decodeFunction(known.function, `${at}.function`, kept);
  });
}

/**
 * Decodes a function's definition: a bare one from the deprecated `functions`, or that of a tool whose other fields are
 * `beside`.
 */
export function decodeFunction(body: unknown, path: string, beside: JsonObject = {}): FunctionTool {
  const { known, kept } = readWire(functionDefinition, body, path);
  const { name, description, parameters, strict } = known;
  if (Object.keys(kept).length > 0) beside.function = kept;
  return {
    type: 'function',
    name,
    ...(description != null && { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
    ...(strict != null && { strict }),
    ...extend(FORMAT, beside),
  };
}

/**
 * The tools for a server; of the functions, those that are allowed. `allowed` is absent if all are. Throws
 * `invalid-request` for a tool that only another dialect knows.
 */
export function encodeTools(
  tools: readonly Tool[],
  dropped: FormatId[],
  allowed?: ReadonlySet<string>,
): JsonObject[] {
  return tools.flatMap((tool, index) => {
    if (tool.type === 'opaque') return [ownValue(tool, `tools[${index}]`)];
    const { name, description, parameters, strict } = tool;
    if (allowed && !allowed.has(name)) return [];
    const { outer, inner } = ownNested(ownFields(tool, dropped), 'function');
    const body: JsonObject = {
      ...inner,
      name,
      ...(description !== undefined && { description }),
      parameters,
      ...(strict !== undefined && { strict }),
    };
    return [{ ...outer, type: 'function', function: body }];
  });
}

/** Decodes any choice: a word, one function or custom tool by name, or some of the tools. */
export function decodeToolChoice(choice: string | JsonObject, path: string): ToolChoice {
  // Cursor writes the words as messages do: `{type: 'auto'}`.
  const type = typeof choice === 'string' ? choice : choice.type;
  if (type === 'none' || type === 'auto' || type === 'required') return { type };
  // Older servers of the dialect call `required` by its name in other dialects.
  if (type === 'any') return { type: 'required' };
  if (typeof choice === 'string') throw invalid(path, 'expected none, auto, required or an object');
  if (type === 'function' || type === 'custom') {
    const { name } = parseWire(namedChoice, choice[type] ?? {}, `${path}.${type}`);
    return { type: 'tool', name };
  }
  if (type === 'allowed_tools') {
    const { mode, tools } = parseWire(allowedTools, choice.allowed_tools, `${path}.allowed_tools`);
    const allowed = tools.map((tool, index) => readName(tool, `${path}.allowed_tools.tools[${index}]`));
    return { type: mode, allowed };
  }
  throw invalid(`${path}.type`, 'expected function, custom or allowed_tools');
}

function readName(tool: JsonObject, path: string): string {
  const reference = referenceOf(tool);
  if (!reference) throw invalid(path, 'expected a tool with a name');
  return reference.name;
}

/** Type and name of a tool or of a tool reference on the wire. The name is in the object that the type names. */
function referenceOf(tool: Json): { type: string; name: string } | undefined {
  if (!isJsonObject(tool)) return undefined;
  const type = typeof tool.type === 'string' ? tool.type : 'function';
  const body = tool[type];
  return isJsonObject(body) && typeof body.name === 'string' ? { type, name: body.name } : undefined;
}

/** The choice for a server. A name that belongs to a tool of another type is referred to by that type. */
export function encodeToolChoice(choice: ToolChoice, tools: readonly Tool[]): Json {
  const types = otherTypes(tools);
  if (choice.type === 'tool') return referTo(choice.name, types);
  if (choice.type === 'none' || choice.allowed === undefined) return choice.type;
  const allowed = choice.allowed.map((name) => referTo(name, types));
  return { type: 'allowed_tools', allowed_tools: { mode: choice.type, tools: allowed } };
}

/** The types of tools that are no functions, by name. Collected once, since there may be thousands of references. */
function otherTypes(tools: readonly Tool[]): Map<string, string> {
  const types = new Map<string, string>();
  for (const tool of tools) {
    const reference = tool.type === 'opaque' ? referenceOf(tool.value) : undefined;
    if (reference && !types.has(reference.name)) types.set(reference.name, reference.type);
  }
  return types;
}

function referTo(name: string, types: ReadonlyMap<string, string>): JsonObject {
  const type = types.get(name) ?? 'function';
  return { type, [type]: { name } };
}
