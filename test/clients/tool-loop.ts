import type { ChatExchange, ChatScript } from '@sluice/testing';
import { z } from 'zod';

/** The task of the scripted model: to write this text into this file by the client's own tool, then say a last word. */
export interface Task {
  path: string;
  content: string;
  lastWord: string;
}

const bodyWire = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string() })),
  tools: z
    .array(
      z.looseObject({
        function: z.looseObject({
          name: z.string(),
          parameters: z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() }),
        }),
      }),
    )
    .optional(),
});

/** The names that the clients give to the tool that writes a file. */
const writers = new Set(['Write', 'write_file', 'write']);
const pathNames = ['file_path', 'filePath', 'path'];

/** Plays a model that finishes the task with one tool call, whatever the client calls its tool. */
export function playTask({ path, content, lastWord }: Task): ChatScript {
  return async (exchange) => {
    const { messages, tools = [] } = bodyWire.parse(exchange.request.body);
    const tool = tools.find((candidate) => writers.has(candidate.function.name))?.function;
    if (!tool) {
      // A call beside the task, for a title or a classification.
      await finish(exchange, 'A small task');
      return;
    }
    if (messages.some(({ role }) => role === 'tool')) {
      await finish(exchange, lastWord);
      return;
    }
    const properties = tool.parameters.properties ?? {};
    const pathName = pathNames.find((name) => Object.hasOwn(properties, name)) ?? 'path';
    const json = JSON.stringify({ [pathName]: path, content });
    const half = Math.floor(json.length / 2);
    await exchange.text('I write the file. ');
    await exchange.toolCall({
      index: 0,
      id: 'call_write',
      name: tool.name,
      arguments: [json.slice(0, half), json.slice(half)],
    });
    await exchange.finish('tool_calls', usage);
  };
}

const usage = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 };

async function finish(exchange: ChatExchange, text: string): Promise<void> {
  await exchange.text(text);
  await exchange.finish('stop', usage);
}
