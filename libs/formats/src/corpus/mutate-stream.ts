import type { Json } from '@sluice/canonical';
import { mutateJson } from './mutate-json.ts';
import { canary, oddTexts } from './oddities.ts';
import type { Random } from './random.ts';

/** The bytes of a server's stream with one to three things wrong with it. */
export function mutateStream(text: string, random: Random): Uint8Array {
  let lines = text.split('\n');
  for (let count = 1 + random.below(3); count > 0; count -= 1) lines = spoil(lines, random);
  const joined = lines.join(random.pick(['\n', '\n', '\n', '\r\n', '\r']));
  return spoilBytes(new TextEncoder().encode(joined), random);
}

function spoil(lines: string[], random: Random): string[] {
  const at = random.below(lines.length);
  const other = random.below(lines.length);
  const line = lines[at] ?? '';
  const replace = (...by: string[]) => [...lines.slice(0, at), ...by, ...lines.slice(at + 1)];
  switch (random.below(14)) {
    case 0:
      return replace();
    case 1:
      return replace(line, line);
    case 2:
      return lines.slice(0, at);
    case 3:
      return replace(lines[other] ?? '');
    case 4:
      return replace(`data: ${random.pick(oddTexts).slice(0, 50_000)}`, '', line);
    case 5:
      return replace(line, 'event: error', `data: {"error":{"message":"${canary}"}}`, '');
    case 6:
      return replace(`event: ${canary}`, line);
    case 7:
      return replace(line, '', 'data: [DONE]', '');
    case 8:
      return replace(line.slice(0, random.below(line.length + 1)));
    case 9:
      return replace(`\ufeff${line}`, 'retry: 7', 'id: \u0000', ': comment', 'data', ':');
    case 10:
      return lines.filter((candidate) => candidate !== '');
    default:
      return replace(spoilData(line, random));
  }
}

/** A line of data whose JSON is well-formed but wrong. */
function spoilData(line: string, random: Random): string {
  const text = line.replace(/^data: ?/, '');
  try {
    // Safe to cast: JSON.parse returns JSON.
    return `data: ${JSON.stringify(mutateJson(JSON.parse(text) as Json, random))}`;
  } catch {
    return `data: ${text}${text}`;
  }
}

function spoilBytes(bytes: Uint8Array, random: Random): Uint8Array {
  if (bytes.length === 0 || random.below(4) !== 0) return bytes;
  const spoiled = bytes.slice(0, random.below(3) === 0 ? 1 + random.below(bytes.length) : bytes.length);
  spoiled[random.below(spoiled.length)] = random.pick([0, 10, 13, 0x7f, 0x80, 0xc3, 0xed, 0xff]);
  return spoiled;
}
