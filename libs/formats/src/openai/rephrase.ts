import type { JsonObject } from '@sluice/canonical';
import { withOneThought } from './rephrasings/analysis-words.ts';
import { withKnownIds, withoutSignatures, withSignatures } from './rephrasings/call-words.ts';
import { withKnownEffort } from './rephrasings/effort-words.ts';
import { withJsonWords } from './rephrasings/json-words.ts';
import {
  withKnownThinking,
  withOlderRole,
  withoutEmptyAnswers,
  withoutFunctionNames,
  withPlainText,
  withTemplateOrder,
} from './rephrasings/message-words.ts';
import { withLooseFunctions, withReadSchemas } from './rephrasings/schema-words.ts';
import {
  withFreeChoice,
  withKnownTemperature,
  withNewerLimit,
  withoutIdleSetting,
  withoutSetting,
  withoutStream,
  withoutStreamOptions,
  withoutWord,
  withSoleFunction,
} from './rephrasings/setting-words.ts';
import { withSingleCalls } from './rephrasings/single-calls.ts';
import { withTextFiles } from './request/text-files.ts';

/** Rewrites the body. Absent if the refusal is about something else, or the body has nothing of the kind. */
type Rephrasing = (body: JsonObject, refusal: string) => JsonObject | undefined;

const rephrasings: readonly Rephrasing[] = [
  // Older versions at Azure and some other servers do not know them.
  withoutStreamOptions,
  // OpenAI wants to know an organization before it streams some models to it, and Groq streams no answer by a schema.
  // Both give the whole answer.
  withoutStream,
  // Azure's deployments have arbitrary names, so we cannot know which model accepts only this name.
  withNewerLimit,
  // In no version of the dialect. Many servers accept it; Groq, Cerebras and Mistral refuse one or both of its names;
  // DeepSeek demands it of every answer.
  withKnownThinking,
  // Not every server knows the role `developer`.
  withOlderRole,
  // Models' templates have rules of their own.
  withTemplateOrder,
  withSingleCalls,
  withOneThought,
  // Not every server takes text in parts, or a call without a text.
  withPlainText,
  // Moonshot, Mistral, DeepSeek and xAI take no answer that says nothing.
  withoutEmptyAnswers,
  // Clients of generate content tell the name of a result's function, which xAI's API refuses.
  withoutFunctionNames,
  // Mistral's tokenizers and OpenAI take no others.
  withKnownIds,
  // A conversation may have come from a server of Gemini, which signs its calls, or go to one, which wants that.
  withoutSignatures,
  withSignatures,
  // In no version of the dialect. Many servers accept it.
  (body, refusal) => withoutWord(body, 'top_k', refusal),
  // OpenAI's `o` models do not accept it. We cut their answers to one call ourselves.
  (body, refusal) => withoutWord(body, 'parallel_tool_calls', refusal),
  // LM Studio can force a call, but not of a certain function.
  withSoleFunction,
  // xAI's models that reason refuse penalties, and Text Generation Inference a `top_p` of 1. Many chat programs send
  // them even where they change nothing.
  withoutIdleSetting,
];
/** For a client of another format, which cannot know what servers of this dialect refuse. */
const foreignRephrasings: readonly Rephrasing[] = [
  ...rephrasings,
  withKnownEffort,
  withJsonWords,
  // DeepSeek and Qwen force no call while they think.
  withFreeChoice,
  withReadSchemas,
  withLooseFunctions,
  // Its range differs.
  withKnownTemperature,
  // OpenAI takes no files but PDF.
  withTextFiles,
  // Mistral refuses `user`, and the name of a deployment at Azure does not tell which settings its model takes.
  withoutSetting,
];

/**
 * The body changed to suit a server of this dialect that refused it with these words. `isForeign`: the client speaks
 * another format. Absent if the refusal is about nothing that can be said otherwise.
 */
export function rephrase(body: JsonObject, refusal: string, isForeign: boolean): JsonObject | undefined {
  for (const rephrasing of isForeign ? foreignRephrasings : rephrasings) {
    const other = rephrasing(body, refusal);
    if (other) return other;
  }
  return undefined;
}
