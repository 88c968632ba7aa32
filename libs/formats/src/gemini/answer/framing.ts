import type { Json } from '@sluice/canonical';

/** How the chunks of a stream are written to the socket. */
export interface Framing {
  readonly contentType: string;
  /** `json` must be one line: see `stringifyLine`. */
  frame(json: string): string;
  /** What completes the text after the last chunk. */
  close(): string;
  /** Text that changes no chunk, for every reader. */
  keepAlive(): string;
}

/** Server-sent events or, for a call without `alt=sse`, one JSON array that is written piece by piece. */
export function createFraming(sse: boolean): Framing {
  return sse ? createEventFraming() : createArrayFraming();
}

const eventStart = 'data: ';
/** Python ends a line at each of these, and with it Google's SDK for it, before version 3: an event would end there. */
const lineBreak = /[\u0085\u2028\u2029]/;
const lineBreaks = new RegExp(lineBreak, 'g');

/** JSON that is one line to every reader. */
export function stringifyLine(value: Json): string {
  const json = JSON.stringify(value);
  return lineBreak.test(json) ? json.replace(lineBreaks, escapeBreak) : json;
}

function escapeBreak(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Nothing may stand between two events: the SDKs for Python and Go fail at a comment, and the older one for JavaScript,
 * which LangChain uses, even at an empty line. So a keep-alive begins the next event, and further ones add blanks
 * before its JSON.
 */
function createEventFraming(): Framing {
  let lead = eventStart;
  return {
    contentType: 'text/event-stream; charset=utf-8',
    frame: (json) => {
      const text = `${lead}${json}\n\n`;
      lead = eventStart;
      return text;
    },
    close: () => '',
    keepAlive: () => {
      if (lead === '') return ' ';
      lead = '';
      return eventStart;
    },
  };
}

/**
 * Nothing may stand outside the brackets: Google's REST clients for Python fail even at white space. So the first
 * keep-alive opens the array.
 */
function createArrayFraming(): Framing {
  let lead = '[';
  return {
    contentType: 'application/json',
    frame: (json) => {
      const text = lead + json;
      lead = ',\r\n';
      return text;
    },
    close: () => ']',
    keepAlive: () => {
      if (lead !== '[') return '\n';
      lead = '';
      return '[';
    },
  };
}
