import { anthropic } from './anthropic.ts';
import type { Dialect, FormatName } from './dialect.ts';
import { gemini } from './gemini.ts';
import { openai } from './openai.ts';

/** The only list of dialects. */
export const dialects: Readonly<Record<FormatName, Dialect>> = { openai, anthropic, gemini };
