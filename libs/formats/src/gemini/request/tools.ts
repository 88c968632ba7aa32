import {
  extend,
  type FormatId,
  type FunctionTool,
  type InferenceRequest,
  type JsonObject,
  type Tool,
  type ToolChoice,
} from '@sluice/canonical';
import { keptBeside, keptFields } from '../../json/kept-fields.ts';
import { placed } from '../../places.ts';
import type { Reader } from '../../reader.ts';
import { FORMAT, keptOn, nested, nestedIn, noteForeign } from '../kept.ts';
import { refuseForeign } from '../parts.ts';
import { invalidField, type WireFunction, type WireRequestBody, type WireToolConfig } from '../wire.ts';
import { decodeSchema, spellsOrder } from './schema.ts';

const noParameters = '{"type":"object","properties":{}}';

/** The fields of a tool and of a function that are read by name. */
const toolFields = new Set(['functionDeclarations']);
const declarationFields = new Set(['name', 'description', 'parameters', 'parametersJsonSchema']);

/**
 * Decodes functions as such. The server's own tools (search, code execution) stay verbatim, for a server that has them.
 */
export function decodeTools(tools: NonNullable<WireRequestBody['tools']>): Tool[] {
  return tools.flatMap((tool, index) => {
    const path = `tools[${index}].functionDeclarations`;
    const functions: Tool[] = (tool.functionDeclarations ?? []).map((declaration, at) =>
      decodeFunction(declaration, `${path}[${at}]`),
    );
    const builtIn = keptBeside(tool, toolFields);
    if (Object.keys(builtIn).length > 0) {
      functions.push(placed({ type: 'opaque', format: FORMAT, value: builtIn }, `tools[${index}]`));
    }
    return functions;
  });
}

function decodeFunction(declaration: WireFunction, path: string): FunctionTool {
  const { name, description, parameters, parametersJsonSchema } = declaration;
  if (parameters && parametersJsonSchema) {
    throw invalidField(`${path}.parametersJsonSchema`, 'only one of parameters and parametersJsonSchema');
  }
  const schema = parameters ?? parametersJsonSchema;
  const kept = keptBeside(declaration, declarationFields);
  // JSON Schema cannot express an order of properties, so a server of this format gets the client's own schema.
  if (parameters && spellsOrder(parameters)) kept.parameters = parameters;
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    parameters: schema ? decodeSchema(schema) : { type: 'object', properties: {} },
    ...extend(FORMAT, kept),
  };
}

/** `tools` for an upstream. Throws `invalid-request` for a tool of another format's servers. */
export function encodeTools(tools: readonly Tool[], dropped: FormatId[]): JsonObject[] {
  const functionDeclarations: JsonObject[] = [];
  const builtIn: JsonObject[] = [];
  for (const [index, tool] of tools.entries()) {
    if (tool.type === 'opaque') builtIn.push(refuseForeign(tool, `tools[${index}]`));
    else functionDeclarations.push(encodeFunction(tool, dropped));
  }
  return [...(functionDeclarations.length > 0 ? [{ functionDeclarations }] : []), ...builtIn];
}

function encodeFunction(tool: FunctionTool, dropped: FormatId[]): JsonObject {
  noteForeign(tool, dropped);
  const { name, description, parameters } = tool;
  const kept = keptOn(tool);
  const isBare = 'parameters' in kept || JSON.stringify(parameters) === noParameters;
  return {
    name,
    ...(description !== undefined && { description }),
    ...(!isBare && { parametersJsonSchema: parameters }),
    ...kept,
  };
}

/** What `toolConfig` says. `kept` holds the fields that only this format understands. */
export function decodeToolConfig(config: WireToolConfig): { choice?: ToolChoice; kept: JsonObject } {
  const { functionCallingConfig, ...rest } = config;
  // We pass on whole calls. If asked for pieces, a server would send pieces that nobody puts together again.
  const { streamFunctionCallArguments: _pieces, ...whole } = functionCallingConfig ?? {};
  const { mode: word = 'MODE_UNSPECIFIED', allowedFunctionNames: names = [], ...unknown } = whole;
  const mode = word.toUpperCase();
  const choice = decodeMode(mode, names);
  // With names, `encodeToolConfig` writes VALIDATED by itself.
  const isKept = mode === 'VALIDATED' && names.length === 0;
  const calling = { ...keptFields(unknown), ...(isKept && { mode }) };
  return {
    ...(choice && { choice }),
    kept: { ...keptFields(rest), ...nested('functionCallingConfig', calling) },
  };
}

function decodeMode(mode: string, names: string[]): ToolChoice | undefined {
  const allowed = names.length > 0 ? { allowed: names } : {};
  const [only, ...others] = names;
  switch (mode) {
    case 'MODE_UNSPECIFIED':
      return undefined;
    case 'AUTO':
    case 'VALIDATED':
      return { type: 'auto', ...allowed };
    case 'ANY':
      return only !== undefined && others.length === 0
        ? { type: 'tool', name: only }
        : { type: 'required', ...allowed };
    case 'NONE':
      return { type: 'none' };
    default:
      throw invalidField(
        'toolConfig.functionCallingConfig.mode',
        'expected one of AUTO, ANY, NONE, VALIDATED',
      );
  }
}

/**
 * `toolConfig` for an upstream; empty if there is nothing to say. Servers refuse a choice if there are no functions,
 * but clients of other formats send one, so it is left out for them.
 */
export function encodeToolConfig(
  request: InferenceRequest,
  { isForeign }: Pick<Reader, 'isForeign'>,
): JsonObject {
  const hasFunctions = request.tools?.some(({ type }) => type === 'function') ?? false;
  const { functionCallingConfig: _calling, ...kept } = nestedIn(keptOn(request), 'toolConfig');
  const calling = nestedIn(nestedIn(keptOn(request), 'toolConfig'), 'functionCallingConfig');
  const choice = request.toolChoice && (hasFunctions || !isForeign) ? encodeChoice(request.toolChoice) : {};
  return { ...nested('functionCallingConfig', { ...choice, ...calling }), ...kept };
}

function encodeChoice(choice: ToolChoice): JsonObject {
  if (choice.type === 'none') return { mode: 'NONE' };
  if (choice.type === 'tool') return { mode: 'ANY', allowedFunctionNames: [choice.name] };
  const names = choice.allowed && { allowedFunctionNames: choice.allowed };
  if (choice.type === 'required') return { mode: 'ANY', ...names };
  // AUTO accepts no names. VALIDATED is AUTO whose calls must match the names and the schemas.
  return { mode: names ? 'VALIDATED' : 'AUTO', ...names };
}
