/** What a dialect cannot express, and what is therefore refused with a 400 that names the path. */
export interface Refusal {
  id: string;
  dialect: string;
  /** The path in canonical terms. */
  param: RegExp;
  says: string;
}

const part = /^messages\[\d+\]\.content\[\d+\](\.content\[\d+\])?$/;

/** The complete list. Any other refusal counts as a failure of the matrix. */
export const refusals: readonly Refusal[] = [
  {
    id: 'foreign-part',
    dialect: 'openai',
    param: part,
    says: 'a part that only a server of the client’s own format understands, or media in an assistant turn',
  },
  {
    id: 'foreign-part',
    dialect: 'anthropic',
    param: part,
    says: 'a part that only a server of the client’s own format understands, media in an assistant turn, or media that is neither image nor document',
  },
  {
    id: 'foreign-part',
    dialect: 'gemini',
    param: part,
    says: 'a part that only a server of the client’s own format understands',
  },
  {
    id: 'file-by-url',
    dialect: 'openai',
    param: /^messages\[\d+\]\.content\[\d+\](\.content\[\d+\])?\.source$/,
    says: 'a document or sound by URL, unless the backend fetches it (`media.fetch`)',
  },
  {
    id: 'nameless-result',
    dialect: 'gemini',
    param: /^messages\[\d+\]\.content\[\d+\]\.toolName$/,
    says: 'a tool result that belongs to no call of the conversation and names no function',
  },
  ...['openai', 'anthropic', 'gemini'].map((dialect) => ({
    id: 'foreign-tool',
    dialect,
    param: /^tools\[\d+\]$/,
    says: 'a tool that only a server of the client’s own format runs',
  })),
  {
    id: 'penalties',
    dialect: 'anthropic',
    param: /^sampling\.(frequency|presence)Penalty$/,
    says: 'a frequency or presence penalty other than 0',
  },
  {
    id: 'log-probabilities',
    dialect: 'anthropic',
    param: /^logprobs$/,
    says: 'log probabilities',
  },
  ...['openai', 'gemini'].map((dialect) => ({
    id: 'empty-answer',
    dialect,
    param: /^sampling\.maxOutputTokens$/,
    says: 'an answer of no tokens, by which a client of messages fills a cache',
  })),
];

/** The refusal that lists this path of this dialect; absent if none does. */
export function findRefusal(dialect: string, param: string): Refusal | undefined {
  return refusals.find((refusal) => refusal.dialect === dialect && refusal.param.test(param));
}
