import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';
import { mediaLabel } from '../../media/media-label.ts';

/** Ollama's cloud, which takes nothing but text in a result. */
const wantsText = /^input should be a valid string\b/i;

/** With the images and files of results after all results of their turn, each under the id of its call. */
export function withMediaApart(body: JsonObject, refusal: string): JsonObject | undefined {
  const { messages } = body;
  if (!Array.isArray(messages) || !wantsText.test(refusal)) return undefined;
  const said = messages.map((turn) => (isJsonObject(turn) ? apart(turn) : turn));
  return said.some((turn, at) => turn !== messages[at]) ? { ...body, messages: said } : undefined;
}

/** A turn whose results hold only text stays the same object. */
function apart(turn: JsonObject): JsonObject {
  if (!Array.isArray(turn.content)) return turn;
  const results: Json[] = [];
  const media: Json[] = [];
  const others: Json[] = [];
  for (const block of turn.content) {
    if (!isJsonObject(block) || block.type !== 'tool_result') {
      others.push(block);
      continue;
    }
    const { content, ...result } = block;
    const held = Array.isArray(content) ? content.filter(isMedia) : [];
    if (held.length === 0 || !Array.isArray(content)) {
      results.push(block);
      continue;
    }
    const rest = content.filter((part) => !isMedia(part));
    results.push({ ...result, ...(rest.length > 0 && { content: rest }) });
    media.push({ type: 'text', text: mediaLabel(String(block.tool_use_id)) }, ...held);
  }
  return media.length === 0 ? turn : { ...turn, content: [...results, ...media, ...others] };
}

function isMedia(block: Json): boolean {
  return isJsonObject(block) && (block.type === 'image' || block.type === 'document');
}
