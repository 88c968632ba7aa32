import { isJsonObject, type Json, type JsonObject } from '@sluice/canonical';

/** How servers say that they take no such file: OpenAI takes only PDF, and many servers take no files. */
const refusesFile = /\bfile(?:_data)?\b|\bmime type\b|\bcontent(?:\[\])?[ .]type\b/i;

const textFile = /^data:text\/[^,]*;base64,/i;

/** The name that a file gets if its client gave it none. */
export const unnamed = 'file';

/**
 * The body with text files said as text, after their names. Absent if the refusal is about something else, or there is
 * no such file.
 */
export function withTextFiles(body: JsonObject, refusal: string): JsonObject | undefined {
  if (!refusesFile.test(refusal) || !Array.isArray(body.messages)) return undefined;
  let isChanged = false;
  const said = (part: Json): Json => {
    const text = textIn(part);
    isChanged ||= text !== undefined;
    return text === undefined ? part : { type: 'text', text };
  };
  const messages = body.messages.map((message) =>
    isJsonObject(message) && Array.isArray(message.content)
      ? { ...message, content: message.content.map(said) }
      : message,
  );
  return isChanged ? { ...body, messages } : undefined;
}

function textIn(part: Json): string | undefined {
  if (!isJsonObject(part) || !isJsonObject(part.file)) return undefined;
  const { file_data: data, filename } = part.file;
  if (typeof data !== 'string' || !textFile.test(data)) return undefined;
  const text = Buffer.from(data.slice(data.indexOf(',') + 1), 'base64').toString('utf8');
  return typeof filename === 'string' && filename !== unnamed ? `${filename}\n\n${text}` : text;
}
